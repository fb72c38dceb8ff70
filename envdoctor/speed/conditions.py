"""What keeps a run from being judged: nothing here calls a run slow, it says why slow would prove nothing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from envdoctor.facts import Facts, Gpu, Unavailable
from envdoctor.speed import breakdown
from envdoctor.speed.probes import Kinship, Machine, drift, shares
from envdoctor.speed.report import Report
from envdoctor.speed.statistics import FEWEST_BASELINE_PROCESSES, Process
from envdoctor.target import Baseline

Cause = Literal["machine", "contention", "stack", "settings", "data"]

FEWEST_WINDOWS = 5  # a median of fewer moves with a single stall
SPREAD_LIMIT = 0.10  # log-sd of windows; pyperf warns at the same 10 %
STALL_LIMIT = 0.05  # mean over median step time
DRIFT_LIMIT = 0.10  # change of a step that the probes tell of, from before to after the run
PRESSURE_LIMIT = {"cpu": 0.10, "cuda": 0.25}
"""Share of the measured time, beyond the baseline's own, in which some task waited for a core. A GPU run hides more."""
USUAL_RANGE = {"cpu": 0.25, "cuda": 0.16}
"""Log range of machines of one model: SC22 saw GPUs at most 22 % apart, so 16 % from the middle is no longer chance."""
TRANSFER_LIMIT = 0.15
"""Log-sd of the machine factor beyond which comparing two machines says nothing."""
CLOCK_LIMIT = 0.05
"""Log-sd of the SM clock while the chip works; badly cooled H100s wander by a fifth (bee benchmark notes, 2026-04)."""
THROTTLING = {"hw-slowdown", "hw-thermal", "sw-thermal", "power-brake"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """A reason against judging. ``passing``: it can only have made the run slower, so a run at full speed stands."""

    word: Literal["unstable", "not-comparable"]
    text: str
    cause: Cause | None = None
    passing: bool = False


def of_reports(
    reports: Sequence[Report], processes: Sequence[Process], usual: Sequence[Process] = (), *, paced: bool = False
) -> Iterator[Obstacle]:
    """Obstacles that the runs themselves show.

    ``usual`` are processes of the same work on a good day: a program whose batches differ in length may always vary by
    more than the limits, and is then held against twice what it usually does. ``paced``: the machine's own pace was
    taken off window by window, so that it may have changed.
    """
    spread_limit = max(SPREAD_LIMIT, 2.0 * statistics.median(p.spread for p in usual)) if usual else SPREAD_LIMIT
    stall_limit = max(STALL_LIMIT, 2.0 * statistics.median(p.stall for p in usual)) if usual else STALL_LIMIT
    for number, report in enumerate(reports, 1):
        which = f"process {number}: " if len(reports) > 1 else ""
        if report.error is not None or not report.windows:
            said = (report.error or {}).get("message", f"outcome {report.outcome}, no timed windows")
            yield Obstacle(word="not-comparable", text=f"{which}the run was not timed to its end: {said}")
        if not report.warmup.steady:
            why = report.warmup.reason or f"after {report.warmup.steps} steps"
            yield Obstacle(word="unstable", text=f"{which}it never became steady: {why}")
        weights = shares(breakdown.of_windows(report.windows).shares)
        moved, probe = drift(report.reference_probes, report.precision, weights)
        if moved > math.log1p(DRIFT_LIMIT) and not paced:
            text = (
                f"{which}the machine changed during the run, by {math.expm1(moved):.0%} of a step: probe {probe} most"
            )
            yield Obstacle(word="unstable", text=text, cause="contention", passing=True)
    for number, process in enumerate(processes, 1):
        which = f"process {number}: " if len(processes) > 1 else ""
        if process.windows < FEWEST_WINDOWS:
            text = f"{which}only {process.windows} timed windows; {FEWEST_WINDOWS} are needed"
            yield Obstacle(word="unstable", text=text)
        if process.spread > spread_limit:
            text = f"{which}the speed of its windows varies by {process.spread:.0%}"
            yield Obstacle(word="unstable", text=text, cause="contention", passing=True)
        if process.stall > stall_limit:
            text = f"{which}stalls make the mean step {process.stall:.0%} longer than the median one"
            yield Obstacle(word="unstable", text=text, cause="contention", passing=True)


def of_baseline(reports: Sequence[Report], baseline: Baseline | None) -> Iterator[Obstacle]:
    """Obstacles in what the runs are compared with."""
    if baseline is None:
        yield Obstacle(word="not-comparable", text="there is no baseline for this workload and stack")
        return
    if baseline.evidence == "claimed" or not baseline.windows:
        whose = baseline.source or "no source given"
        yield Obstacle(
            word="not-comparable",
            text=f"the baseline is a claim without raw numbers ({whose}); no interval can be given",
        )
    elif len(baseline.windows) < FEWEST_BASELINE_PROCESSES:
        yield Obstacle(
            word="not-comparable",
            text=f"the baseline has {len(baseline.windows)} processes; how processes differ is known from "
            f"{FEWEST_BASELINE_PROCESSES} on",
        )
    for report in reports[:1]:
        if (report.workload or "") != baseline.workload:
            text = f"the run trained {report.workload or 'its own data'}, the baseline {baseline.workload}"
            yield Obstacle(word="not-comparable", text=text)
        kind = baseline.conditions.get("device")
        if isinstance(kind, str) and kind != report.device.type:
            text = f"the run used {report.device.type}, the baseline {kind} ({baseline.gpu})"
            yield Obstacle(word="not-comparable", text=text, cause="machine")
        if baseline.windows:
            yield from _another_step(report, baseline)


def _another_step(report: Report, baseline: Baseline) -> Iterator[Obstacle]:
    """Steps per second compare only where a step is the same work."""
    theirs = baseline.conditions.get("tokens_per_step")
    slots = report.tokens_per_step.get("real")
    if isinstance(theirs, (int, float)) and slots and abs(math.log(slots / theirs)) > 0.02:
        yield Obstacle(
            word="not-comparable",
            text=f"a step of this run has {slots:,.0f} tokens, a step of the baseline {theirs:,.0f}",
            cause="settings",
        )


def of_pace(pace: float) -> Obstacle:
    """The machine's pace was never near its usual one. ``pace``: log of it over the baseline's."""
    text = f"the machine gave {math.exp(pace):.2f}x its usual pace throughout: a busy neighbour or a CPU limit"
    return Obstacle(word="unstable", text=text, cause="contention")


def nothing_in_common(baseline: Baseline) -> Obstacle:
    """The machines differ and no probe was timed on both."""
    text = f"the baseline is of {baseline.gpu or 'another machine'}, and no common probes tell how the two compare"
    return Obstacle(word="not-comparable", text=text, cause="machine")


def of_machine(machine: Machine, kinship: Kinship, reports: Sequence[Report], baseline: Baseline) -> Iterator[Obstacle]:
    """Obstacles that probes and pressure show."""
    device = reports[0].device.type
    if machine.spread > TRANSFER_LIMIT:
        said = ", ".join(f"{name} {ratio:.2f}x" for name, ratio in sorted(machine.ratios.items()))
        yield Obstacle(
            word="not-comparable",
            text=f"the probes do not agree on how fast this machine is, relative to the baseline's: {said}",
            cause="machine",
        )
    elif device == "cpu" and kinship != "other-model" and abs(machine.log_factor) > USUAL_RANGE["cpu"]:
        yield Obstacle(
            word="not-comparable",
            text=f"{machine.said}, though of the same model: a busy neighbour or a CPU limit, not the environment",
            cause="machine",
        )
    yield from _pressure(reports, baseline)


def _pressure(reports: Sequence[Report], baseline: Baseline) -> Iterator[Obstacle]:
    usual = baseline.conditions.get("pressure", 0.0)
    usual = float(usual) if isinstance(usual, (int, float)) else 0.0
    device = reports[0].device.type
    limit = PRESSURE_LIMIT.get(device, 0.25)
    seen = [share for report in reports if (share := pressure(report)) is not None]
    if seen and max(seen) - usual > limit:
        yield Obstacle(
            word="unstable",
            text=f"tasks waited for a CPU core in {max(seen):.0%} of the measured time (the baseline: {usual:.0%})",
            cause="contention",
            passing=True,
        )
    elif not seen and device == "cpu":
        load, cores = load_of(reports), reports[0].device.cores
        if load is not None and cores and load > cores + 1.0:
            text = f"the load was {load:.1f} on {cores} cores while the run was timed"
            yield Obstacle(word="unstable", text=text, cause="contention", passing=True)


def pressure(report: Report) -> float | None:
    """Share of the measured time in which some task waited for a core; None on kernels that do not say."""
    during = report.contention.get("during")
    return float(during) if isinstance(during, (int, float)) and math.isfinite(during) else None


def load_of(reports: Sequence[Report]) -> float | None:
    """The highest one-minute load at the end of the runs."""
    loads = [report.contention.get("load") for report in reports]
    first = [load[0] for load in loads if isinstance(load, list) and load and isinstance(load[0], (int, float))]
    return float(max(first)) if first else None


def of_facts(facts: Facts | None, device: str, baseline: Baseline | None) -> Iterator[Obstacle]:
    """Obstacles that the GPU's own state shows (NVML); nothing for a CPU run or without facts."""
    if facts is None or device == "cpu" or isinstance(facts.gpus, Unavailable):
        return
    for gpu in facts.gpus.devices[:1]:  # the bundled workloads train on the first visible GPU
        yield from _of_gpu(gpu, baseline)


def _of_gpu(gpu: Gpu, baseline: Baseline | None) -> Iterator[Obstacle]:
    if gpu.mig:
        text = f"{gpu.name} is split into MIG instances: the run had a part of the chip"
        yield Obstacle(word="not-comparable", text=text, cause="machine")
    usual = (baseline.conditions.get("power_limit") if baseline else None) or gpu.power_default
    if gpu.power_limit and isinstance(usual, (int, float)) and gpu.power_limit < 0.98 * usual:
        yield Obstacle(
            word="not-comparable",
            text=f"the power limit is {gpu.power_limit:.0f} W, the baseline's {usual:.0f} W",
            cause="machine",
        )
    if gpu.rows_pending or gpu.retired_pending:
        text = "memory rows wait to be remapped: the GPU must be reset"
        yield Obstacle(word="not-comparable", text=text, cause="machine")
    active = THROTTLING & set(gpu.throttle_reasons or ())
    if active:
        text = f"the GPU slows itself down ({', '.join(sorted(active))})"
        yield Obstacle(word="unstable", text=text, cause="machine", passing=True)
    if gpu.processes:
        text = f"{gpu.processes} other process{'es' if gpu.processes > 1 else ''} used the same GPU"
        yield Obstacle(word="unstable", text=text, cause="contention", passing=True)


def of_clock(spread: float | None) -> Iterator[Obstacle]:
    """A chip whose clock wanders while it works: no two windows are of the same machine."""
    if spread is not None and spread > CLOCK_LIMIT:
        text = f"the GPU's clock varied by {spread:.0%} while it worked"
        yield Obstacle(word="unstable", text=text, cause="machine", passing=True)
