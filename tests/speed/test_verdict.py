import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor.facts.model import Facts, Gpu, Gpus
from envdoctor.locks.target import Baseline, StackChoice
from envdoctor.speed.baselines.recording import record
from envdoctor.speed.cost import Price
from envdoctor.speed.outcome import Verdict, as_json
from envdoctor.speed.report import Device, Report, Warmup, read
from envdoctor.speed.verdict import judge
from tests.speed.making import CPU_PROBES, PARTS, PROBES, baseline, cpu_report, report, target, windows


def scaled(probes: dict[str, float], **factors: float) -> dict[str, float]:
    """Probes with those whose name starts with a keyword multiplied."""
    return {
        name: speed * next((factor for start, factor in factors.items() if name.startswith(start)), 1.0)
        for name, speed in probes.items()
    }


def gpu(**changes: Any) -> Facts:
    return Facts(gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA H100 80GB HBM3", power_default=700.0, **changes),)))


DOLLARS = Price(per_hour=2.5, currency="$")
DATA_BOUND = {**PARTS, "data": 0.35, "forward": 0.2, "backward": 0.36}
QUIET_CPU = baseline(1.5, like=cpu_report())
CLAIM = Baseline(
    workload="chat-135m",
    stack="cu130",
    evidence="claimed",
    gpu="NVIDIA H100",
    steps_per_second=5.0,
    source="a write-up",
)
SEED_002 = replace(CLAIM, conditions={"parameters": 7.5e9, "tokens_per_step": 8000, "precision": "bfloat16"})

CASES: list[tuple[str, Report | list[Report], Baseline | None, dict[str, Any], str, str | None, str]] = [
    # name, run(s), baseline, further arguments, verdict, cause, part of a reason
    ("the same speed", report(), baseline(), {}, "as-expected", None, ""),
    ("two percent slower is nothing", report(9.8), baseline(), {}, "as-expected", None, ""),
    ("a tenth slower", report(9.0), baseline(), {"target": target()}, "slower", None, "nothing measured explains it"),
    ("a tenth faster", report(11.0), baseline(), {}, "faster", None, ""),
    (
        "slower with an older torch",
        report(9.0, versions={"torch": "2.4.0+cu121", "transformers": "5.23.0"}),
        baseline(),
        {"target": target()},
        "slower",
        "stack",
        "torch 2.4.0+cu121 instead of 2.13.0+cu130",
    ),
    (
        "slower with other settings",
        report(6.0, settings={"precision": "bfloat16", "attention": "model"}),
        baseline(),
        {},
        "slower",
        "settings",
        "attention model instead of varlen",
    ),
    (
        "slower with a flag the target does not set",
        report(8.0, flags={"float32-matmul-precision": "highest"}),
        baseline(),
        {"target": target(flags={"float32-matmul-precision": "high"})},
        "slower",
        "settings",
        "float32-matmul-precision highest instead of high",
    ),
    (
        "slower, waiting for data",
        report(7.0, windows=windows(7.0, parts=DATA_BOUND)),
        baseline(),
        {},
        "slower",
        "data",
        "waits 35% of its time for data",
    ),
    (
        "a slower chip of the same model, within what chips differ by",
        report(9.2, probes=scaled(PROBES, matmul=0.92, copy=0.92, python=0.92)),
        baseline(),
        {},
        "as-expected",
        None,
        "this machine is 0.92x the baseline's by its probes alone: taken off",
    ),
    (
        "a GPU far below its model",
        report(7.0, probes=scaled(PROBES, matmul=0.7, copy=0.7, python=0.7)),
        baseline(),
        {},
        "slower",
        "machine",
        "0.70x",
    ),
    (
        "slower only in part because of the machine: the environment is at fault",
        report(
            6.4,
            probes=scaled(PROBES, matmul=0.92, copy=0.92, python=0.92),
            settings={"precision": "bfloat16", "attention": "model"},
        ),
        baseline(),
        {},
        "slower",
        "settings",
        "attention model",
    ),
    (
        "slow torch kernels are not the machine's fault",
        report(5.0, probes=scaled(PROBES, matmul=0.5), versions={"torch": "2.4.0"}),
        baseline(),
        {},
        "slower",
        "stack",
        "torch 2.4.0",
    ),
    ("CPU: the same speed", cpu_report(), QUIET_CPU, {}, "as-expected", None, ""),
    (
        "CPU: one slow process proves nothing",
        cpu_report(1.3),
        QUIET_CPU,
        {},
        "unstable",
        None,
        "one process proves nothing",
    ),
    ("CPU: three slow processes do", [cpu_report(1.3)] * 3, QUIET_CPU, {}, "slower", None, ""),
    (
        "CPU: slow with fewer threads",
        [
            cpu_report(
                0.8, device=Device(type="cpu", name="x", cpu_model=cpu_report().device.cpu_model, threads=1, cores=2)
            )
        ]
        * 3,
        QUIET_CPU,
        {},
        "slower",
        "settings",
        "threads 1 instead of 2",
    ),
    (
        "CPU: a neighbour that pressure shows",
        [cpu_report(0.9, contention={"during": 0.6, "load": [4.0, 2.0, 1.0]})] * 3,
        QUIET_CPU,
        {},
        "unstable",
        "contention",
        "60%",
    ),
    (
        "CPU: pressure that did no harm",
        cpu_report(1.5, contention={"during": 0.6, "load": [4.0, 2.0, 1.0]}),
        QUIET_CPU,
        {},
        "as-expected",
        None,
        "",
    ),
    (
        "CPU: load without pressure information",
        cpu_report(1.0, contention={"before": None, "during": None, "load": [5.0, 2.0, 1.0]}),
        QUIET_CPU,
        {},
        "unstable",
        "contention",
        "load was 5.0 on 2 cores",
    ),
    (
        "CPU: ten times slower matrix products beside a neighbour nobody reports",
        [cpu_report(0.2, probes=scaled(CPU_PROBES, matmul=0.1, copy=0.6))] * 3,
        QUIET_CPU,
        {},
        "not-comparable",
        "machine",
        "probes do not agree",
    ),
    (
        "CPU: everything halved",
        [cpu_report(0.75, probes=scaled(CPU_PROBES, matmul=0.5, copy=0.5, python=0.5))] * 3,
        QUIET_CPU,
        {},
        "not-comparable",
        "machine",
        "busy neighbour",
    ),
    (
        "CPU: the machine changed during the run",
        cpu_report(1.2, reference_probes={"before": CPU_PROBES, "after": scaled(CPU_PROBES, matmul=0.6)}),
        QUIET_CPU,
        {},
        "unstable",
        "contention",
        "probe matmul_fp32_gflops most",
    ),
    (
        "CPU: another model without probes",
        cpu_report(probes={}, device=Device(type="cpu", name="EPYC", cpu_model="AMD EPYC", threads=2, cores=2)),
        QUIET_CPU,
        {},
        "not-comparable",
        "machine",
        "no common probes",
    ),
    (
        "CPU: another model that is 1.5 times as fast throughout",
        cpu_report(
            2.25,
            probes={name: 1.5 * speed for name, speed in CPU_PROBES.items()},
            device=Device(type="cpu", name="EPYC", cpu_model="AMD EPYC", threads=2, cores=2),
        ),
        QUIET_CPU,
        {},
        "as-expected",
        None,
        "compared through the reference probes",
    ),
    (
        "another GPU, compared through the probes",
        report(
            10.5,
            device=Device(type="cuda", name="NVIDIA H200", capability="9.0", cpu_model="x", threads=8, cores=8),
            probes=scaled(PROBES, copy=1.2),
        ),
        baseline(),
        {},
        "as-expected",
        None,
        "this is NVIDIA H200",
    ),
    (
        "the wrong device",
        cpu_report(workload="chat-135m"),
        baseline(),
        {},
        "not-comparable",
        "machine",
        "the run used cpu",
    ),
    ("another workload", report(workload="chat-30m"), baseline(), {}, "not-comparable", None, "trained chat-30m"),
    (
        "another step",
        report(tokens_per_step={"real": 2000.0}),
        baseline(),
        {},
        "not-comparable",
        "settings",
        "2,000 tokens",
    ),
    (
        "never steady",
        report(8.0, warmup=Warmup(steady=False, reason="it drifts")),
        baseline(),
        {},
        "unstable",
        None,
        "drifts",
    ),
    (
        "few windows",
        report(8.0, windows=windows(8.0, count=3)),
        baseline(),
        {},
        "unstable",
        None,
        "only 3 timed windows",
    ),
    (
        "windows all over the place",
        report(8.0, windows=windows(8.0, spread=0.3)),
        baseline(),
        {},
        "unstable",
        "contention",
        "varies by",
    ),
    (
        "processes all over the place",
        [report(9.0), report(6.0), report(9.1)],
        baseline(),
        {},
        "unstable",
        "contention",
        "differ",
    ),
    (
        "failed",
        report(error={"kind": "oom", "message": "out of memory"}, windows=()),
        baseline(),
        {},
        "not-comparable",
        None,
        "out of memory",
    ),
    (
        "interrupted without windows",
        report(windows=(), outcome="interrupted"),
        baseline(),
        {},
        "not-comparable",
        None,
        "interrupted",
    ),
    ("no baseline", report(), None, {}, "not-comparable", None, "no baseline"),
    ("a claim", report(), CLAIM, {}, "not-comparable", None, "a write-up"),
    ("an impossible claim", report(), SEED_002, {}, "not-comparable", None, "182% of the bfloat16 peak"),
    ("two processes are no baseline", report(), baseline(processes=2), {}, "not-comparable", None, "2 processes"),
    ("faster than the chip", report(100.0), baseline(100.0), {}, "not-comparable", None, "peak"),
    ("MIG", report(5.0), baseline(), {"facts": gpu(mig=True)}, "not-comparable", "machine", "MIG"),
    ("a power limit", report(8.0), baseline(), {"facts": gpu(power_limit=500.0)}, "not-comparable", "machine", "500 W"),
    ("remapped rows", report(8.0), baseline(), {"facts": gpu(rows_pending=True)}, "not-comparable", "machine", "reset"),
    (
        "throttling",
        report(8.0),
        baseline(),
        {"facts": gpu(throttle_reasons=("hw-thermal",))},
        "unstable",
        "machine",
        "hw-thermal",
    ),
    (
        "throttling that did no harm",
        report(),
        baseline(),
        {"facts": gpu(throttle_reasons=("hw-thermal",))},
        "as-expected",
        None,
        "",
    ),
    (
        "the usual power cap is no fault",
        report(9.0),
        baseline(),
        {"facts": gpu(throttle_reasons=("sw-power-cap",))},
        "slower",
        None,
        "",
    ),
    (
        "another process on the GPU",
        report(6.0),
        baseline(),
        {"facts": gpu(processes=1)},
        "unstable",
        "contention",
        "1 other process",
    ),
    (
        "another lock: derived, so a little slower is as expected as far as can be seen",
        report(9.3),
        baseline(),
        {"target": target(choice=StackChoice(stack="cu130", reason="", digest="b" * 64))},
        "as-expected",
        None,
        "another lock",
    ),
]


@pytest.mark.parametrize(
    ("run", "base", "more", "word", "cause", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_verdicts(
    run: Report | list[Report], base: Baseline | None, more: dict[str, Any], word: str, cause: str | None, said: str
) -> None:
    verdict = judge(run if isinstance(run, list) else [run], base, **more)
    assert (verdict.word, verdict.cause) == (word, cause), verdict
    assert any(said in reason for reason in verdict.reasons) or not said, verdict.reasons
    check_json(verdict)


KEYS = (
    "schema verdict workload ratio interval alpha detectable cause steps_per_second tokens_per_second mfu "
    "of_achievable breakdown gpu_idle windows reference_probes conditions baseline cost"
).split()


def check_json(verdict: Verdict) -> dict[str, Any]:
    """What must hold of every verdict's JSON."""
    found = as_json(verdict)
    assert list(found) == KEYS
    again: dict[str, Any] = json.loads(json.dumps(found, allow_nan=False))
    assert (found["interval"] is None) == (found["ratio"] is None) == (found["detectable"] is None)
    if found["verdict"] in ("as-expected", "faster", "slower"):
        low, high = found["interval"]
        assert low <= found["ratio"] <= high
        assert found["alpha"] == 0.01
    else:
        assert again["conditions"]["reasons"], "an undecided verdict says why"
    return again


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
