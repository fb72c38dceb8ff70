"""Speeds, ratios and curves from slices whose answers are known."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from trainer.options.settings import from_mapping

from tests.benchmarks import defaults, figures, peertables
from tests.benchmarks.seeds import AGAIN, LIVE, groups_of, key, runs_of
from tests.benchmarks.seedtable import SEEDS, Seed


def side(name: str, *slices: tuple, losses: tuple = (), tokens: tuple = ()) -> SimpleNamespace:
    """A side whose slices are (wall, cpu, real tokens)."""
    pieces = [
        {"wall": wall, "cpu": cpu, "steps": 1, "real": real, "slots": 2.0 * real, "trained": real / 2, "squares": 0.0}
        for wall, cpu, real in slices
    ]
    return SimpleNamespace(name=name, slices=pieces, facts={"losses": list(losses), "tokens": list(tokens)})


@pytest.mark.parametrize(
    ("values", "expected"),
    [([4.0], (4.0, 4.0, 4.0)), ([1.0, 3.0], (1.5, 2.0, 2.5)), ([5.0, 1.0, 2.0, 4.0, 3.0], (2.0, 3.0, 4.0))],
)
def test_spread_is_quartiles(values: list, expected: tuple) -> None:
    assert figures.spread(values) == expected


def test_ratios_pair_the_slices_of_a_round() -> None:
    # The machine halves its speed in the second round: the ratio does not see it.
    ours, other = side("a", (1.0, 2.0, 300.0), (2.0, 4.0, 300.0)), side("b", (1.0, 1.0, 100.0), (2.0, 2.0, 100.0))
    assert figures.ratios(ours, other, "wall", "real") == (3.0, 3.0, 3.0)
    assert figures.ratios(ours, other, "cpu", "real") == (1.5, 1.5, 1.5)


def test_whole_weighs_slices_by_their_time() -> None:
    assert figures.whole(side("a", (1.0, 1.0, 100.0), (3.0, 3.0, 100.0)), "wall", "real") == 50.0


def test_padding_and_arithmetic() -> None:
    one = side("a", (2.0, 2.0, 10.0))
    assert figures.padding(one) == 0.5
    assert figures.flops(one, [6.0, 4.0, 1.0]) == (6 * 10 + 4 * 5) / 2


def test_curve_weighs_losses_by_tokens_and_stops_where_the_shortest_run_did() -> None:
    run = side("a", losses=(4.0, 2.0, 1.0, 9.0), tokens=(10.0, 30.0, 40.0, 10.0))
    assert figures.curve(run, 80.0, parts=2) == [(4 * 10 + 2 * 30) / 40, 1.0]


def test_distances_are_relative_to_the_first_side() -> None:
    assert peertables.same_distance({"ours": [2.0, 1.0], "b": [2.0, 1.1]}) == pytest.approx(0.1)
    assert peertables.curve_distance({"ours": [9.0, 2.0], "b": [5.0, 2.5]}) == pytest.approx(0.25)


def test_goals_say_met_and_missed() -> None:
    ratio = {"wall": {"quartiles": [1.0, 1.5, 2.0]}}
    curves = {"ours": [7.0, 5.0], "HF defaults": [7.0, 5.0], "TRL packed": [7.0, 5.0]}
    sizes = {"30m": {"ratios": {"HF defaults": {"wall": {"quartiles": [7.0, 8.0, 9.0]}}, "TRL packed": ratio},
                     "curves": curves,
                     "share": {"ours": 0.71}, "overhead": {"own": [0.0, 0.03, 0.04]}}}  # fmt: skip
    verdicts = [line.rsplit(None, 1)[-1] for line in peertables.goals_text(sizes).splitlines()[2:]]
    assert verdicts == ["met", "missed", "met", "missed"]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.number)
def test_every_run_of_the_seeds_table_has_valid_settings(seed: Seed) -> None:
    from_mapping(dict(seed.before), "test", seed.preset, seed.task)
    for step in seed.steps:
        assert key(step.on) != key(step.off), step.name
        for values in (step.on, step.off):
            from_mapping({n: v for n, v in {**seed.both, **values}.items() if n != "flags"}, "test", task=seed.task)


def test_runs_with_equal_settings_are_one() -> None:
    assert key({}) == "after"
    assert key({"a": 1, "b": 2}) == key({"b": 2, "a": 1}) == json.dumps({"a": 1, "b": 2})


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.number)
def test_few_runs_live_side_by_side_and_every_comparison_is_among_them(seed: Seed) -> None:
    steps = list(seed.steps)
    pairs = [("after", "before"), (AGAIN, "after"), *((key(step.on), key(step.off)) for step in steps)]
    groups = groups_of(pairs)
    assert sorted(pair for group in groups for pair in group) == sorted(pairs)
    runs = runs_of(seed, steps)
    for group in groups:
        names = {name for pair in group for name in pair}
        assert len(names) <= LIVE
        assert names <= set(runs)
    assert {"before", "after"} <= {name for pair in groups[0] for name in pair}


def test_only_what_learns_alike_counts_as_a_rival() -> None:
    """Batches sorted by length are fast, and are other steps."""
    curves = {
        "ours": [7.0, 6.0, 5.0, 4.4], "HF defaults": [7.0, 5.9, 5.0, 4.3], "TRL packed": [7.0, 5.9, 4.9, 4.2],
        "TRL padded": [7.0, 5.9, 5.0, 4.4], "TRL by length": [7.6, 6.9, 6.2, 5.4],
    }  # fmt: skip
    speeds = {"HF defaults": 5.0, "TRL packed": 2.2, "TRL padded": 3.6, "TRL by length": 1.5}
    ratios = {side: {"wall": {"quartiles": [ratio, ratio, ratio]}} for side, ratio in speeds.items()}
    assert peertables.rivals(ratios, curves) == [("hf", "HF defaults"), ("trl", "TRL packed")]


def _sizes(record: str) -> dict:
    return json.loads((Path(__file__).parent / "recorded" / record).read_text())["sizes"]


def _times(sizes: dict, side: str) -> list[str]:
    quartiles = [size["ratios"][side]["wall"]["quartiles"] for size in sizes.values()]
    return [f"{middle:.1f} ({low:.1f}-{high:.1f})" for low, middle, high in quartiles]


def _shares(sizes: dict) -> list[str]:
    return [f"{100 * size['share']['ours']:.0f} %" for size in sizes.values()]


def test_the_readme_says_what_was_recorded() -> None:
    found, slower = _sizes("peers.json"), _sizes("peers-slower-bfloat16.json")
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    page = Path(__file__).with_name("README.md").read_text()
    assert f"transformers' Trainer as it comes | {' | '.join(_times(found, 'HF defaults'))} |" in readme
    assert f"fused loss | {' | '.join(_times(found, 'TRL packed'))} |" in readme
    plain = page.replace("**", "")  # bold is what meets its aim
    for label, cells in (
        ("in float32 | 8", [_times(sizes, "HF defaults") for sizes in (found, slower)]),
        ("fused loss | 2.7", [_times(sizes, "TRL packed") for sizes in (found, slower)]),
        ("FLOP/s | 50 %, not of 5M", [_shares(sizes) for sizes in (found, slower)]),
    ):
        assert f"{label} | {' | '.join(map(', '.join, zip(*cells, strict=True)))} |" in plain
    ranges = [sorted(cell.split()[0] for cell in _times(slower, side)) for side in ("HF defaults", "TRL packed")]
    assert f"{ranges[0][0]}-{ranges[0][-1]} and {ranges[1][0]}-{ranges[1][-1]} where the CPU's bfloat16" in readme


def test_the_readme_says_what_the_write_ups_came_to() -> None:
    found = json.loads((Path(__file__).parent / "recorded" / "seeds.json").read_text())["seeds"]
    readme = Path(__file__).with_name("README.md").read_text()
    assert [seed["seed"] for seed in found] == [seed.number for seed in SEEDS]
    for seed in found:
        low, middle, high = seed["ratio"]["wall"]
        same = seed["nothing"]["wall"][1]
        row = f"| {seed['seed']} {seed['title']} | {seed['claim']} | {middle:.1f} ({low:.1f}-{high:.1f}) | {same:.2f} |"
        assert row in readme


def test_the_times_of_the_defaults_are_their_four_factors() -> None:
    ours = {"work": [6.0, 4.0, 1.0], "slices": [{"wall": 1.0, "real": 100, "trained": 50, "squares": 1000}]}
    theirs = {"wall": 10.0, "real": 100, "trained": 50, "slots": 300, "documents": 8, "squares": 1000, "cells": 12000}
    size = {"raw": {"ours": ours, defaults.SIDE: {"slices": [theirs]}}, "precision": "bfloat16",
            "achievable": {"float32": 1000.0, "bfloat16": 4000.0}}  # fmt: skip
    of = defaults.factors(size)
    needed, unpadded, padded = 6 * 100 + 4 * 50 + 1000, 10 * 100 + 2 * 1000, 10 * 300 + 2 * 12000
    assert (of["padding"], of["logits and squares"], of["precision"]) == (padded / unpadded, unpadded / needed, 4.0)
    assert of["times"] == pytest.approx(10.0)  # the same tokens in a tenth of the time
    assert of["padding"] * of["logits and squares"] * of["precision"] * of["pace"] == pytest.approx(of["times"])
    assert (of["our share"], of["asked share"]) == (needed / 4000, 8 * needed / 10 / 4000)
    assert of["asked share"] == pytest.approx(of["our share"] * defaults.AIM / of["times"])
    assert "record, 5m | 9.00 |" in defaults.table({"record": {"sizes": {"5m": size}}})
    del theirs["cells"]  # an older record: eight rows of 300 / 8 slots is the least
    assert defaults.cells([theirs]) == 300**2 / 8
