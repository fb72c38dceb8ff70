"""What a verdict says: its JSON, its sentences, its doubts; and what holds of every one."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor.speed.baselines.recording import record
from envdoctor.speed.cost import Price
from envdoctor.speed.report import Report, read
from envdoctor.speed.verdict import judge
from tests.speed.making import CPU_PROBES, PROBES, baseline, cpu_report, report, target, windows
from tests.speed.verdicts import DOLLARS, QUIET_CPU, check_json, scaled


def test_a_slower_run_says_what_mending_it_saves() -> None:
    found = judge(
        [report(8.0)] * 3, baseline(), target=target(), steps=36_000, price_per_hour=Price(per_hour=2.5, currency="$")
    )
    assert found.word == "slower"
    assert found.cost is not None
    assert found.fixed is not None
    assert found.cost.seconds == pytest.approx(4500, rel=1e-2)
    assert found.fixed.seconds == pytest.approx(3600, rel=1e-2)
    assert found.fixed.money == pytest.approx(2.5, rel=1e-2)
    data = check_json(found)
    assert data["cost"]["fixed"]["seconds"] == pytest.approx(3600, rel=1e-2)


def test_the_json_of_a_good_run() -> None:
    found = check_json(judge([report()], baseline(), steps=36_000, price_per_hour=DOLLARS))
    assert found["steps_per_second"] == pytest.approx(10.0, rel=1e-3)
    assert found["tokens_per_second"] == {
        "trained": pytest.approx(8000, rel=1e-3),
        "real": pytest.approx(10_000, rel=1e-3),
        "slots": pytest.approx(10_240, rel=1e-3),
    }
    assert found["mfu"] == pytest.approx(2e13 * 10 / 989.5e12, rel=1e-3)
    assert found["of_achievable"] == pytest.approx(2e13 * 10 / 700e12, rel=1e-3)
    assert sum(found["breakdown"].values()) == pytest.approx(1.0, abs=1e-4)
    assert found["cost"] == {
        "seconds": pytest.approx(3600, rel=1e-3),
        "money": pytest.approx(2.5, rel=1e-3),
        "currency": "$",
        "fixed": None,
    }
    assert len(found["windows"]) == 1
    assert len(found["windows"][0]) == 20
    assert found["baseline"]["windows"]
    assert found["conditions"]["probe_ratios"]["matmul_bf16_gflops"] == 1.0


def test_undecided_asks_for_more_processes_and_then_gives_up() -> None:
    base = baseline(sd=0.01)
    first = judge([report(9.65)], base)
    assert (first.word, first.more_processes) == ("unstable", 2)
    last = judge([report(9.65)] * 3, base)
    assert last.more_processes == 0


def test_a_noisy_baseline_promises_only_what_it_can() -> None:
    noisy = judge([cpu_report()] * 3, baseline(1.5, sd=0.02, like=cpu_report()))
    assert noisy.word == "as-expected"
    assert noisy.tolerance is not None
    assert noisy.tolerance > 0.05
    coarse = judge([cpu_report()] * 3, baseline(1.5, sd=0.10, like=cpu_report()))
    assert coarse.word == "as-expected"
    assert coarse.resolution is not None
    assert 0.2 < coarse.resolution < 0.5
    assert coarse.sentence == f"As expected; a slow-down of {coarse.resolution:.0%} or more would have shown"
    hopeless = judge([cpu_report()] * 3, baseline(1.5, sd=0.25, like=cpu_report()))
    assert hopeless.word == "unstable"
    assert hopeless.sentence == "Cannot tell: its speed varies so much that even half of it could be meant"


def test_a_program_of_ones_own_is_judged_by_its_earlier_runs_on_the_same_machine() -> None:
    def own(rate: float, spread: float = 0.2) -> Report:
        return report(rate, workload=None, probes={}, windows=windows(rate, count=40, spread=spread))

    kept = record([own(10.0 + 0.01 * n) for n in range(5)], target(), "own")
    assert judge([own(10.02)], kept, same_machine=True).word == "as-expected"
    assert judge([own(8.0)], kept, same_machine=True).word == "slower"
    assert judge([own(8.0, spread=0.7)], kept, same_machine=True).word == "unstable"
    other = judge([own(9.2)], kept)
    assert other.word == "as-expected", "another card of that model could be that slow"
    assert (other.resolution or 0.0) > 0.12, "and this is said"


def test_a_judgement_needs_a_report() -> None:
    with pytest.raises(ValueError, match="no report"):
        judge([], baseline())


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.3, 3.0),
    st.floats(0.0, 0.2),
    st.integers(1, 3),
    st.floats(0.5, 2.0),
    st.floats(0.0, 1.0),
    st.sampled_from(["cuda", "cpu"]),
)
def test_no_claim_without_an_interval_and_no_slower_under_pressure(
    speed: float, spread: float, count: int, machine: float, pressed: float, device: str
) -> None:
    make, base = (report, baseline()) if device == "cuda" else (cpu_report, QUIET_CPU)
    rate = (10.0 if device == "cuda" else 1.5) * speed
    probes = {name: machine * value for name, value in (PROBES if device == "cuda" else CPU_PROBES).items()}
    run = make(rate, probes=probes, windows=windows(rate, spread=spread), contention={"during": pressed})
    verdict = judge([run] * count, base)
    check_json(verdict)
    if device == "cpu" and pressed > 0.15:
        assert verdict.word != "slower"
    if verdict.word == "faster":
        assert verdict.comparison is not None
        assert verdict.comparison.interval[0] > 1.0


@given(st.floats(0.0, 0.5))
def test_slower_runs_never_get_a_better_word(loss: float) -> None:
    order = {"faster": 0, "as-expected": 1, "unstable": 2, "slower": 3}
    here = judge([report(10.0 * math.exp(-loss))], baseline())
    there = judge([report(10.0 * math.exp(-loss - 0.05))], baseline())
    assert order[here.word] <= order[there.word]


def test_a_real_run_beside_busy_neighbours_is_not_called_slow() -> None:
    """Timed on two shared cores while other work ran: steps of 0.8 s took 3 to 15 s."""
    contended = read(Path(__file__).parent / "reports" / "chat-5m-cpu-contended.json")
    conditions = {**QUIET_CPU.conditions, "tokens_per_step": contended.tokens_per_step["real"]}
    for count in (1, 3):
        verdict = judge([contended] * count, replace(QUIET_CPU, conditions=conditions))
        assert verdict.word in ("unstable", "not-comparable")
        assert verdict.cause in ("contention", "machine")
        assert verdict.comparison is not None
        assert verdict.comparison.ratio < 0.5


def test_the_first_line_is_a_sentence_and_the_figures_stand_beside_it() -> None:
    fine = judge([report()], baseline())
    assert fine.sentence == "As expected; a slow-down of 4% or more would have shown"
    assert fine.figures.startswith("as-expected: +0.0 % [-2.7, +2.8] against the baseline")
    assert fine.next_step == ""
    busy = judge([cpu_report(0.9, contention={"during": 0.6, "load": [4.0, 2.0, 1.0]})] * 3, QUIET_CPU)
    assert busy.sentence == "Cannot tell: another program uses the cores"
    assert busy.next_step == "Measure again when nothing else uses this machine."
    disturbed = cpu_report(0.9, contention={"during": 0.6}, probes=scaled(CPU_PROBES, matmul=0.3))
    doubtful = judge([disturbed] * 3, QUIET_CPU)
    assert doubtful.sentence == busy.sentence, "what disturbs the probes is named, not what it does to them"
    old = judge([report(9.0, versions={"torch": "2.4.0"})], baseline(), target=target())
    assert old.sentence.startswith("10% slower than expected: other versions than the baseline's: torch 2.4.0")
    assert old.next_step.endswith("envdoctor fix")
    chip = judge([report(7.0, probes=scaled(PROBES, matmul=0.7, copy=0.7, python=0.7))], baseline())
    assert chip.sentence.startswith("30% slower than expected: this machine is 0.70x"), "slow by the clock"
    found = check_json(chip)["conditions"]
    assert (found["sentence"], found["figures"]) == (chip.sentence, chip.figures)
