"""Speeds, ratios and curves from slices whose answers are known."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from types import SimpleNamespace

import pytest
from trainer.options.settings import from_mapping

from tests.benchmarks import defaults, figures, peertables
from tests.benchmarks.seeds import AGAIN, LIVE, groups_of, key, runs_of
from tests.benchmarks.seedtable import SEEDS, Seed
from tests.benchmarks.two_processes import ratios


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


def _ranges(sizes: dict) -> str:
    """Least and most of the medians, of the defaults and of TRL."""
    found = []
    for side in ("HF defaults", "TRL packed"):
        timed = {name: size for name, size in sizes.items() if side in size["ratios"]}
        middles = sorted(cell.split()[0] for cell in _times(timed, side))
        found.append(f"{middles[0]}-{middles[-1]}")
    return " and ".join(found)


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
    without = _sizes("peers-without-avx512.json")
    amx = _sizes("peers-amx.json")
    slow = f"{_ranges(slower)} with bfloat16 half as fast"
    assert f"{slow}, {_ranges(amx)} with AMX, {_ranges(without)} without)" in " ".join(readme.split())


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


RECORDED = Path(__file__).parent / "recorded"
PAGE = Path(__file__).with_name("README.md").read_text()
OTHERS = {"bundled": "peers-without-avx512.json", "`documentation`": "peers-documentation.json",
          "`turns`": "peers-turns.json"}  # fmt: skip


@pytest.mark.parametrize(("chats", "record"), OTHERS.items(), ids=list(OTHERS.values()))
def test_the_page_says_what_other_chats_gave_on_a_cpu_of_float32_alone(chats: str, record: str) -> None:
    found = json.loads((RECORDED / record).read_text())
    assert not {"avx512f", "avx512_bf16", "amx_bf16"} & set(found["units"])
    sizes = {name: found["sizes"][name] for name in ("5m", "30m")}
    assert all(size["precision"] == "float32" for size in sizes.values())
    lengths = ", ".join(str(size) for size in sizes["5m"]["facts"]["lengths"].values())
    defaults_take, packed = (", ".join(_times(sizes, side)) for side in ("HF defaults", "TRL packed"))
    assert f"| {chats}; {lengths} | {defaults_take} | {packed} | {', '.join(_shares(sizes))} |" in PAGE
    losses = sizes["5m"]["same_batches"]
    assert peertables.same_distance(losses) < 2e-7  # as the page says


def test_the_page_says_what_8_times_the_defaults_would_ask_for() -> None:
    asked = {record: [f"{100 * defaults.factors(size)['asked share']:.0f}" for size in _sizes(record).values()
                      if defaults.SIDE in size["raw"]]
             for record in ("peers.json", "peers-slower-bfloat16.json", OTHERS["bundled"])}  # fmt: skip
    first, second, third = asked.values()
    page = " ".join(PAGE.split())
    assert "{} % at 5M, {} % at 30M and {} % at 135M weights on the first CPU".format(*first) in page
    assert "{}, {} and {} % on the second".format(*second) in page
    assert "{} and {} % on the third".format(*third) in page


@pytest.mark.parametrize("name", ["5m", "30m", "135m"])
def test_the_page_says_where_a_step_of_float32_goes(name: str) -> None:
    record = json.loads((RECORDED / f"profile-{name}-float32.json").read_text())
    assert record["freed_memory"] == "kept"
    total = sum(row["seconds"] for row in record["kinds"].values())
    products, attention = (record["kinds"][kind] for kind in ("products", "attention"))
    best = record["achievable"]["float32"]
    cells = (
        f"{name.upper()} | {record['useful_flops'] / record['wall'] / best:.0%} | {products['seconds'] / total:.0%}",
        f"{products['flops'] / products['seconds'] / 1e9:.0f} of {best / 1e9:.0f} GFLOP/s",
        f"{attention['seconds'] / total:.0%}",
        f"{1 - (products['seconds'] + attention['seconds']) / total:.0%}",
    )
    assert f"| {' | '.join(cells)} |".replace("%", " %") in PAGE


def test_the_page_says_what_a_cpu_with_amx_reaches() -> None:
    found = json.loads((RECORDED / "peers-amx.json").read_text())
    assert "amx_bf16" in found["units"]
    for name in ("5m", "30m"):
        one = {name: found["sizes"][name]}
        cells = (name.upper(), *_times(one, "HF defaults"), *_times(one, "TRL packed"), *_shares(one))
        assert f"| {' | '.join(cells)} |" in PAGE
    record = json.loads((RECORDED / "profile-30m-amx.json").read_text())
    seconds = {kind: row["seconds"] for kind, row in record["kinds"].items()}
    total, best = sum(seconds.values()), record["achievable"]["bfloat16"]
    page = " ".join(PAGE.split()).replace(" %", "%")
    assert f"is {record['useful_flops'] / record['wall'] / best:.0%} of the best product's rate" in page
    assert (
        f"products take {seconds['products'] / total:.0%} of the operators' time, "
        f"norms, positions and activations {seconds['norms, positions, activations'] / total:.0%}, "
        f"casts and copies {seconds['casts and copies'] / total:.0%}, attention {seconds['attention'] / total:.0%}."
    ) in page
    assert f"it would be {total / seconds['products']:.2f} times as fast" in page
    reached = found["sizes"]["30m"]["achievable"]
    assert f"{reached['bfloat16'] / 1e9:,.0f} GFLOP/s, its float32 {reached['float32'] / 1e9:.0f}." in page


def test_the_page_says_what_two_processes_and_the_loop_itself_come_to() -> None:
    page = " ".join(PAGE.split())
    two = json.loads((RECORDED / "two_processes.json").read_text())
    _, both, threads = two["real_tokens_per_second"].values()
    assert len(both) >= 5
    low, *_, high = two["efficiency"]
    assert f"{statistics.median(two['efficiency']):.2f} of twice one's pace ({low:.2f} to {high:.2f})" in page
    beside = ratios(threads, both, 1)
    assert f"and {statistics.median(beside):.2f} times that of one process with two threads" in page
    assert f"({beside[0]:.2f} to {beside[-1]:.2f})" in page
    own = json.loads((RECORDED / "overhead-135m.json").read_text())["workloads"]["chat-135m"]["own"][1]
    assert f"At 135M it is {100 * own:.2f} %" in page
