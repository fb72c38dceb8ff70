import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.speed.ablation.ablation import evaluate, useful_rate
from envdoctor.speed.ablation.interleaving import Variant, ladder, plan
from envdoctor.speed.ablation.variants import DEFAULT, VARIANTS, find
from envdoctor.speed.losses import compare_losses, of_series
from envdoctor.speed.report import Report
from tests.speed.making import report, windows


def variants(count: int) -> list[Variant]:
    return [Variant(name=f"v{number}") for number in range(count)]


@given(st.integers(2, 6), st.integers(2, 8))
def test_every_round_has_every_variant_once(count: int, rounds: int) -> None:
    order = [variant.name for variant in plan(variants(count), rounds)]
    assert len(order) == count * rounds
    for number in range(rounds):
        assert sorted(order[number * count : (number + 1) * count]) == [f"v{n}" for n in range(count)]


def test_two_variants_alternate_who_goes_first() -> None:
    assert [v.name for v in plan(variants(2), 4)] == ["v0", "v1", "v1", "v0", "v1", "v0", "v0", "v1"]


@given(st.integers(2, 5))
def test_a_slow_drift_of_the_machine_cancels_out(count: int) -> None:
    rounds = 2 * count  # a full cycle of the plan
    positions: Counter[str] = Counter()
    for place, variant in enumerate(plan(variants(count), rounds)):
        positions[variant.name] += place
    assert len(set(positions.values())) == 1, "all variants stand equally late on average"


@pytest.mark.parametrize(("chosen", "rounds"), [(variants(1), 3), (variants(2) + variants(1), 3), (variants(2), 1)])
def test_what_is_no_ablation(chosen: list[Variant], rounds: int) -> None:
    with pytest.raises(ValueError, match="ablation"):
        plan(chosen, rounds)


def test_a_ladder_adds_one_change_after_the_other() -> None:
    steps = ladder(
        Variant(name="before", settings={"packing": False, "head": "all"}),
        [Variant(name="packing", settings={"packing": True}), Variant(name="tf32", flags={"x": "high"})],
    )
    assert [step.name for step in steps] == ["before", "+ packing", "+ tf32"]
    assert steps[1].settings == {"packing": True, "head": "all"}
    assert steps[2].settings == {"packing": True, "head": "all"}
    assert steps[2].flags == {"x": "high"}


A, B = Variant(name="a"), Variant(name="b", environment=Path("other"))


def runs(*rates: float, **changes: Any) -> list[Report]:
    return [report(rate, memory={"cuda_peak": 8e9, "peak_rss": 1e9}, **changes) for rate in rates]


def test_a_clear_difference_with_its_interval_losses_and_memory() -> None:
    losses = tuple(4.0 - 0.05 * n for n in range(20))
    first = runs(10.0, 10.1, 9.9, losses=losses)
    second = [replace(r, memory={"cuda_peak": 4e9}) for r in runs(12.0, 12.1, 11.9, losses=losses)]
    table = evaluate([A, B], {"a": first, "b": second})
    reference, row = table.rows
    assert (reference.word, reference.ratio) == ("equal", 1.0)
    assert row.word == "faster"
    assert row.ratio == pytest.approx(1.2, rel=1e-3)
    assert row.interval is not None
    assert row.interval[0] < 1.2 < row.interval[1]
    assert row.memory_ratio == 0.5
    assert row.losses is not None
    assert row.losses.word == "equal"
    assert row.against == "a"


def test_two_variants_are_the_paired_t_test_by_hand() -> None:
    ours, theirs = (10.0, 11.0, 12.0), (11.0, 12.5, 12.9)
    table = evaluate([A, B], {"a": runs(*ours), "b": runs(*theirs)})
    differences = [math.log(b / a) for a, b in zip(ours, theirs, strict=True)]
    mean = sum(differences) / 3
    sd = math.sqrt(sum((d - mean) ** 2 for d in differences) / 2)
    half = 4.302653 * sd / math.sqrt(3)
    row = table.rows[1]
    assert row.interval is not None
    assert math.log(row.interval[0]) == pytest.approx(mean - half, rel=1e-5)
    assert table.df == 2


def test_slow_rounds_that_hit_both_do_not_hide_the_difference() -> None:
    day = (1.0, 0.5, 0.8, 1.2)  # the machine's mood, the same within a round
    table = evaluate([A, B], {"a": runs(*(10 * d for d in day)), "b": runs(*(10.5 * d for d in day))})
    assert table.rows[1].word == "faster"
    assert table.rows[1].ratio == pytest.approx(1.05, rel=1e-3)


def test_equal_and_undecided_are_different_words() -> None:
    same = evaluate([A, B], {"a": runs(*[10.0] * 4), "b": runs(*[10.01] * 4)})
    assert same.rows[1].word == "equal"
    noisy = evaluate([A, B], {"a": runs(10.0, 9.0, 11.0), "b": runs(10.5, 11.0, 9.0)})
    assert noisy.rows[1].word == "undecided"


def test_useful_work_counts_not_steps() -> None:
    # b makes twice the steps with a quarter of the trained tokens in each.
    small = tuple(replace(w, tokens={**w.tokens, "trained": w.tokens["trained"] / 4}) for w in windows(20.0))
    table = evaluate([A, B], {"a": runs(10.0, 10.0), "b": runs(20.0, 20.0, windows=small)})
    assert table.rows[1].ratio == pytest.approx(0.5, rel=1e-3)
    assert table.rows[1].steps_per_second == pytest.approx(20.0, rel=1e-2)


def test_a_variant_that_fails_is_a_row_of_its_own() -> None:
    broken = [report(error={"message": "no compiler"}, windows=())] * 2
    table = evaluate([A, B, Variant(name="c")], {"a": runs(10.0, 10.0), "b": broken, "c": runs(9.0, 9.0)})
    assert [row.word for row in table.rows] == ["equal", "failed", "slower"]
    assert table.rows[1].remark == "no compiler"


def test_without_a_reference_there_is_no_table() -> None:
    with pytest.raises(ValueError, match="reference"):
        evaluate([A, B], {"a": [], "b": runs(1.0, 1.0)})


def test_a_ladder_is_read_against_the_step_before() -> None:
    steps = ladder(A, [Variant(name="x"), Variant(name="y")])
    table = evaluate(
        steps, {"a": runs(10.0, 10.0), "+ x": runs(20.0, 20.0), "+ y": runs(30.0, 30.0)}, against="previous"
    )
    assert [row.against for row in table.rows] == ["a", "a", "+ x"]
    assert [round(row.ratio or 0, 2) for row in table.rows] == [1.0, 2.0, 1.5]


def test_disturbed_runs_are_counted() -> None:
    pressed = runs(10.0, 10.0, contention={"during": 0.9})
    assert evaluate([A, B], {"a": runs(10.0, 10.0), "b": pressed}).disturbed == 2


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    three = [A, B, Variant(name="c")]
    covered, total = 0, 400
    for _ in range(total):
        mood = rng.normal(0.0, 0.2, 3)
        rates = {
            v.name: 10 * np.exp(mood + shift + rng.normal(0.0, 0.02, 3))
            for v, shift in zip(three, (0, 0.1, -0.1), strict=True)
        }
        table = evaluate(
            three,
            {
                name: [Report(schema=1, outcome="finished", windows=windows(float(r), 1)) for r in row]
                for name, row in rates.items()
            },
        )
        low, high = table.rows[1].interval or (0, 0)
        covered += low <= math.exp(0.1) <= high
    assert 0.91 <= covered / total <= 0.985  # 95 % stated


def test_useful_rate_of_a_failed_run_is_unknown() -> None:
    assert useful_rate(report(windows=())) is None


LOSSES = [
    ("the same", [4.0, 3.0, 2.0, 1.5, 1.4, 1.3], [4.0, 3.0, 2.0, 1.5, 1.4, 1.3], "equal"),
    ("rounding", [4.0, 3.01, 1.99, 1.5, 1.41, 1.3], [4.0, 3.0, 2.0, 1.5, 1.4, 1.31], "equal"),
    ("one-sided", [x * 1.01 for x in (4, 3, 2, 1.5, 1.4)], [4.0, 3.0, 2.0, 1.5, 1.4], "different"),
    ("one step off", [4.0, 3.0, 2.2, 1.5, 1.4], [4.0, 3.0, 2.0, 1.5, 1.4], "different"),
    ("not a number", [4.0, None, 2.0, 1.5, 1.4], [4.0, 3.0, 2.0, 1.5, 1.4], "different"),
    ("both not a number there", [4.0, None, 2.0, 1.5, 1.4, 1.3], [4.0, None, 2.0, 1.5, 1.4, 1.3], "equal"),
    ("too short", [4.0, 3.0], [4.0, 3.0], "not-comparable"),
    ("nothing", [], [], "not-comparable"),
]


@pytest.mark.parametrize(("run", "reference", "word"), [c[1:] for c in LOSSES], ids=[c[0] for c in LOSSES])
def test_equal_losses(run: list[float | None], reference: list[float | None], word: str) -> None:
    assert of_series(run, reference).word == word


def test_only_the_first_fifty_losses_count() -> None:
    same = [2.0] * 50
    assert of_series([*same, 9.0], [*same, 1.0]).word == "equal"


def test_losses_of_other_steps_do_not_compare() -> None:
    losses = (4.0, 3.0, 2.0, 1.5, 1.4)
    packed, padded = report(losses=losses), report(losses=losses, tokens_per_step={"trained": 300.0})
    assert compare_losses(packed, padded).word == "not-comparable"
    assert compare_losses(packed, report(losses=losses, settings={"seed": 3})).word == "not-comparable"
    assert compare_losses(packed, packed).word == "equal"


def test_every_variant_is_one_that_the_trainer_takes() -> None:
    pytest.importorskip("torch")
    from trainer import flags
    from trainer.options.settings import from_mapping

    table = {flag.name for flag in flags.FLAGS}
    assert len({v.name for v in (DEFAULT, *VARIANTS)}) == len(VARIANTS) + 1
    for variant in (DEFAULT, *VARIANTS):
        from_mapping({"workload": "chat-5m", **variant.settings}, variant.name)
        assert set(variant.flags) <= table
        assert variant.why
        assert variant.settings or variant.flags or variant is DEFAULT


def test_before_is_the_trainers_own_preset() -> None:
    from trainer.options.settings import PRESETS

    (before,) = find(("before",))
    assert dict(before.settings) == PRESETS["before"]


def test_an_unknown_variant_is_named() -> None:
    with pytest.raises(KeyError, match="turbo"):
        find(("turbo",))
