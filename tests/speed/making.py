"""Reports and baselines with given properties, for tables of cases."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from envdoctor.knowledge import gpus
from envdoctor.locks.target import Baseline, StackChoice, Target
from envdoctor.speed.report import Device, Report, TrainedModel, Warmup, Window

GPU = "NVIDIA H100 80GB HBM3"
CPU = "Intel(R) Xeon(R) Processor @ 2.50GHz"
PROBES = {"matmul_bf16_gflops": 700_000.0, "matmul_fp32_gflops": 50_000.0, "copy_gbs": 2500.0, "python_mops": 20.0}
CPU_PROBES = {"matmul_fp32_gflops": 160.0, "matmul_bf16_gflops": 45.0, "copy_gbs": 20.0, "python_mops": 18.0}
PARTS = {
    "data": 0.01,
    "copy": 0.01,
    "forward": 0.3,
    "backward": 0.6,
    "optimizer": 0.06,
    "checkpoint": 0.0,
    "other": 0.02,
}
VERSIONS = {"python": "3.11.7", "torch": "2.13.0+cu130", "transformers": "5.23.0"}


def chip(name: str) -> gpus.GpuModel:
    """The row of a GPU that the table knows."""
    found = gpus.board(name)
    assert found is not None
    return found


def windows(
    rate: float, count: int = 20, spread: float = 0.002, parts: dict[str, float] | None = None, steps: int = 10
) -> tuple[Window, ...]:
    """``count`` windows around ``rate`` steps per second, alternating by ``spread``."""
    found = []
    for index in range(count):
        seconds = steps / (rate * (1.0 + spread * (-1) ** index))
        found.append(
            Window(
                steps=steps,
                seconds=seconds,
                tokens={"trained": 800.0 * steps, "real": 1000.0 * steps, "slots": 1024.0 * steps},
                breakdown={part: share * seconds for part, share in (parts or PARTS).items()},
            )
        )
    return tuple(found)


def report(rate: float = 10.0, *, probes: dict[str, float] | None = None, **changes: Any) -> Report:
    """A finished, quiet run on an H100; ``changes`` are fields of `Report`."""
    speeds = probes if probes is not None else PROBES
    made = Report(
        schema=1,
        outcome="finished",
        task="sft",
        workload="chat-135m",
        device=Device(type="cuda", name=GPU, capability="9.0", cpu_model=CPU, threads=8, cores=8),
        windows=windows(rate),
        settings={"precision": "bfloat16", "attention": "varlen", "learning_rate": 1e-3},
        versions=VERSIONS,
        model=TrainedModel(parameters=135_000_000, trained_parameters=135_000_000, flops_per_step=2e13, formula="6N"),
        warmup=Warmup(steps=30, seconds=3.0, steady=True, reason="flat"),
        tokens_per_step={"trained": 800.0, "real": 1000.0, "slots": 1024.0},
        reference_probes={"before": speeds, "after": speeds},
        contention={"before": 0.0, "during": 0.01, "load": [0.5, 0.5, 0.5]},
    )
    return replace(made, **changes)


def cpu_report(rate: float = 1.5, *, probes: dict[str, float] | None = None, **changes: Any) -> Report:
    """The same on two cores of a CPU."""
    device = Device(type="cpu", name=CPU, cpu_model=CPU, threads=2, cores=2)
    settings = {"precision": "float32", "attention": "documents"}
    versions = {**VERSIONS, "torch": "2.13.0+cpu"}
    given = {"device": device, "settings": settings, "versions": versions, "workload": "chat-5m", **changes}
    given.setdefault("model", TrainedModel(flops_per_step=7e10))
    return report(rate, probes=probes if probes is not None else CPU_PROBES, **given)


def baseline(
    rate: float = 10.0, *, sd: float = 0.004, processes: int = 10, like: Report | None = None, **changes: Any
) -> Baseline:
    """A measured baseline of ``processes`` evenly spread around ``rate``, with the conditions of ``like``."""
    source = like or report()
    normal = [sd * 1.6 * (2 * (n + 0.5) / processes - 1) for n in range(processes)]
    made = Baseline(
        workload=source.workload or "",
        stack="cu130",
        evidence="measured",
        lock="a" * 64,
        gpu=source.device.name,
        windows=tuple(tuple(w.rate for w in windows(rate * math.exp(z))) for z in normal),
        probes=tuple(dict(source.reference_probes["before"]) for _ in normal),  # type: ignore[arg-type]
        conditions={
            "device": source.device.type,
            "cpu_model": source.device.cpu_model,
            "cores": source.device.cores,
            "threads": source.device.threads,
            "precision": source.precision,
            "tokens_per_step": 1000.0,
            "flops_per_step": source.model.flops_per_step,
            "pressure": 0.02,
            "versions": dict(source.versions),
            "settings": {
                "precision": source.precision,
                "attention": source.settings["attention"],
                "threads": source.device.threads,
            },
            "breakdown": PARTS,
        },
    )
    return replace(made, **changes)


def target(**changes: Any) -> Target:
    """An H100 target whose chosen stack has the baseline's lock."""
    choice = StackChoice(stack="cu130", reason="first that fits", digest="a" * 64, training_digest="c" * 64)
    made = Target(name="h100", title="NVIDIA H100", gpu_names=("H100",), stacks=("cu130",), choice=choice)
    return replace(made, **changes)
