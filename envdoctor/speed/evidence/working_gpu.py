"""What the GPU went through while a run was timed: a GPU is only throttled, capped or shared while it works.

Facts are collected before the run, when the chip idles at low clocks. While the run works, NVML is asked again every
few seconds, in a child of its own, and what was seen goes into the facts that the verdict is judged by.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

from envdoctor.facts.model import Facts, Gpu, Unavailable
from envdoctor.speed.evidence.trained_gpu import trained_gpu
from envdoctor.speed.report import Device

BUSY = 50
"""Percent of utilisation from which a reading counts as one at a working chip."""
SEEN_OFTEN = 0.2
"""Share of the readings that must show a throttle reason: touching a limit now and then is how boost clocks work."""


def facts_while_working(facts: Facts, readings: Sequence[Gpu], device: Device) -> Facts:
    """The facts with the GPU that trained as it was while it worked: usual reasons and clock, and the most neighbours.

    Our own training is one of the processes on the chip. Of readings at an idle chip (start-up, the end) only the
    neighbours count.
    """
    trained = trained_gpu(facts, device)
    if isinstance(facts.gpus, Unavailable) or trained is None or not readings:
        return facts
    seen = _while_working(trained, of_gpu(readings, trained))
    devices = tuple(seen if gpu is trained else gpu for gpu in facts.gpus.devices)
    return replace(facts, gpus=replace(facts.gpus, devices=devices))


def of_gpu(readings: Sequence[Gpu], gpu: Gpu) -> list[Gpu]:
    """The readings of one GPU among those of all."""
    return [reading for reading in readings if reading.index == gpu.index]


def _while_working(first: Gpu, same: Sequence[Gpu]) -> Gpu:
    working = [reading for reading in same if (reading.utilization or 0) >= BUSY]
    counts = [reading.processes for reading in same if reading.processes is not None]
    others = max((count - 1 for count in counts), default=None)
    changed: dict[str, object] = {}
    if others is not None:
        changed["processes"] = max(others, first.processes or 0)
    if working:
        reasons = {reason for reading in working for reason in (reading.throttle_reasons or ())}
        often = {
            reason
            for reason in reasons
            if sum(reason in (reading.throttle_reasons or ()) for reading in working) >= SEEN_OFTEN * len(working)
        }
        changed["throttle_reasons"] = tuple(sorted(often))
        # What was only read at rest is unknown at work: a resting clock beside a working chip would look like a fault.
        for name in ("sm_clock", "memory_clock", "power_draw", "temperature", "utilization"):
            values = [value for reading in working if (value := getattr(reading, name)) is not None]
            middle = statistics.median(values) if values else None
            changed[name] = round(middle) if middle is not None and name != "power_draw" else middle
        # A link rests at its slowest and needs a moment to wake: what it reached at work is what was negotiated.
        for name in ("pcie_generation", "pcie_width"):
            reached = [value for reading in working if (value := getattr(reading, name)) is not None]
            changed[name] = max(reached, default=None)
        limits = [reading.power_limit for reading in working if reading.power_limit is not None]
        if limits:
            changed["power_limit"] = min(limits)
    return replace(first, **changed)  # type: ignore[arg-type]


def unsteady_clock(readings: Sequence[Gpu], facts: Facts | None, device: Device) -> float | None:
    """Log-sd of the trained GPU's SM clock over the readings while it worked; None for fewer than three."""
    trained = trained_gpu(facts, device)
    readings = of_gpu(readings, trained) if trained is not None else ()
    clocks = [
        math.log(reading.sm_clock) for reading in readings if reading.sm_clock and (reading.utilization or 0) >= BUSY
    ]
    return statistics.stdev(clocks) if len(clocks) >= 3 else None
