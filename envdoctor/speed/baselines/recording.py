"""Recording a baseline from fresh processes, and showing what is recorded."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.facts.model import Facts, Unavailable
from envdoctor.locks.target import Baseline, Target
from envdoctor.speed import breakdown, roofline
from envdoctor.speed import statistics as speeds
from envdoctor.speed.baselines.baseline_file import write
from envdoctor.speed.evidence import probes
from envdoctor.speed.evidence.differences import SPEED_PACKAGES, speed_settings
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.gpu import gpu_state
from envdoctor.speed.evidence.pressure import pressure_of
from envdoctor.speed.evidence.trained_gpu import trained_gpu
from envdoctor.speed.evidence.windows import disturbances
from envdoctor.speed.report import Report, idle_share

__all__ = ["record", "write"]

DIGITS = 4  # significant; the windows of one process differ in the third


def record(
    reports: Sequence[Report],
    target: Target,
    stack: str,
    *,
    facts: Facts | None = None,
    lock: str | None = None,
    date: str = "",
    command: str = "",
    noisy: bool = False,
) -> Baseline:
    """A measured baseline of N fresh processes: raw windows, probes, and the conditions they hold under.

    ``lock``: digest of the pins installed (default: the target's choice). ``date``: ISO 8601, ``command``: what
    measured it. Raises `Trouble` when the runs may not become a baseline: too few, of different things, disturbed, or
    faster than the chip can be. With ``noisy`` disturbances are written down instead of refused: on a shared machine
    that is never quiet, the spread that they cause is part of what later runs are judged by.
    """
    least = speeds.FEWEST_BASELINE_PROCESSES
    if len(reports) < least:
        raise _refusal(f"{len(reports)} processes; a baseline needs at least {least}, and 10 to be sharp")
    first = reports[0]
    for report in reports[1:]:
        for what, ours, theirs in _identity(first, report):
            if ours != theirs:
                raise _refusal(f"the runs are of different things: {what} {ours} and {theirs}")
    runs = [speeds.process(report.rates, [w.seconds for w in report.windows]) for report in reports if report.windows]
    own = () if first.workload else runs  # a program of the user's own may vary by nature, as long as all runs do
    disturbed = [*disturbances(reports, runs, own), *gpu_state(facts, first.device, None)]
    if disturbed and not noisy:
        raise _refusal(f"a disturbed run makes no baseline: {disturbed[0].text}")
    digest = lock if lock is not None else (target.choice.training_digest if target.choice else None)
    baseline = Baseline(
        workload=first.workload or "",
        stack=stack,
        evidence="measured",
        lock=digest,
        gpu=device_name(first),
        windows=tuple(tuple(_short(rate) for rate in report.rates) for report in reports),
        paces=_paces(reports),
        probes=tuple(
            {name: _short(speed) for name, speed in probes.flat(report.reference_probes).items()} for report in reports
        ),
        conditions={**_conditions(reports, facts, date), **_disturbance_table(disturbed)},
        source=command,
    )
    if refused := roofline.refuse_impossible(baseline):
        raise _refusal(f"the measured speed is impossible: {refused.arithmetic}")
    return baseline


def disturbance(report: Report) -> str | None:
    """What disturbed this run by itself, so that it makes no baseline; None when nothing did."""
    if not report.windows:
        return None
    runs = [speeds.process(report.rates, [window.seconds for window in report.windows])]
    return next((found.text for found in disturbances([report], runs, () if report.workload else runs)), None)


def device_name(report: Report) -> str:
    """The GPU's name, or the CPU's with the number of cores the run could use."""
    if report.device.type != "cpu":
        return report.device.name
    return f"{report.device.cpu_model or report.device.name}, {report.device.cores or report.device.threads} cores"


def _paces(reports: Sequence[Report]) -> tuple[tuple[float, ...], ...]:
    """The machine's pace at every window, where all of them have it."""
    known = tuple(tuple(_short(w.pace) for w in report.windows if w.pace is not None) for report in reports)
    whole = all(len(row) == len(report.windows) for row, report in zip(known, reports, strict=True))
    return known if whole else ()


def _disturbance_table(disturbed: Sequence[Evidence]) -> dict[str, Any]:
    return {"disturbed": [found.text for found in disturbed]} if disturbed else {}


def _refusal(problem: str) -> Trouble:
    return Trouble(problem, remedy="Measure again on a quiet machine: envdoctor baseline record.", exit_code=3)


def _identity(first: Report, other: Report) -> list[tuple[str, object, object]]:
    return [
        ("workload", first.workload, other.workload),
        ("task", first.task, other.task),
        ("device", device_name(first), device_name(other)),
        ("torch", first.versions.get("torch"), other.versions.get("torch")),
        ("settings", speed_settings(first), speed_settings(other)),
    ]


def _conditions(reports: Sequence[Report], facts: Facts | None, date: str) -> dict[str, Any]:
    """What must be alike for the baseline to be judged by, and what explains it when it is not."""
    first = reports[0]
    spent = breakdown.of_windows([window for report in reports for window in report.windows])
    pressures = [share for report in reports if (share := pressure_of(report)) is not None]
    found: dict[str, Any] = {
        "date": date,
        "device": first.device.type,
        "cpu_model": first.device.cpu_model,
        "cores": first.device.cores,
        "threads": first.device.threads,
        "machine": first.device.machine,
        "precision": first.precision,
        "tokens_per_step": _short(first.tokens_per_step.get("real", 0.0)),
        "flops_per_step": _short(first.model.flops_per_step),
        "pressure": _short(statistics.median(pressures)) if pressures else None,
        "versions": {name: first.versions[name] for name in SPEED_PACKAGES if first.versions.get(name)},
        "settings": speed_settings(first),
        "breakdown": {part: round(share, 4) for part, share in spent.shares.items()},
    }
    idle = idle_share(reports)
    found["gpu_idle"] = round(idle, 4) if idle is not None else None
    if facts is not None and (gpu := trained_gpu(facts, first.device)) is not None:
        found |= {
            "identity": gpu.identity,
            "power_limit": gpu.power_limit,
            "sm_clock": gpu.sm_clock,
            "sm_clock_max": gpu.sm_clock_max,
        }
        if not isinstance(facts.driver, Unavailable):
            found["driver"] = facts.driver.kernel_module
    return {name: value for name, value in found.items() if value not in (None, "", {})}


def _short(number: float | None) -> Any:
    return None if number is None else float(f"{number:.{DIGITS}g}")
