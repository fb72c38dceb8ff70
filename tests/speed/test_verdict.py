from dataclasses import replace
from typing import Any

import pytest

from envdoctor.locks.target import Baseline, StackChoice
from envdoctor.speed.report import Device, Report, Warmup
from envdoctor.speed.verdict import judge
from tests.speed.making import CPU_PROBES, PARTS, PROBES, baseline, cpu_report, report, target, windows
from tests.speed.verdicts import QUIET_CPU, check_json, gpu, scaled

DATA_BOUND = {**PARTS, "data": 0.35, "forward": 0.2, "backward": 0.36}
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
