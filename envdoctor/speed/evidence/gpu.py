"""What the GPU's own state shows (NVML): a part of a chip, a power limit, throttling, neighbours, a wandering clock."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.model import Facts, Gpu
from envdoctor.locks.target import Baseline
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.run import Context, TimedRun
from envdoctor.speed.evidence.trained_gpu import trained_gpu
from envdoctor.speed.report import Device

CLOCK_LIMIT = 0.05
"""Log-sd of the SM clock while the chip works; badly cooled H100s wander by a fifth (bee benchmark notes, 2026-04)."""
THROTTLING = {"hw-slowdown", "hw-thermal", "sw-thermal", "power-brake"}


def gpu(run: TimedRun, baseline: Baseline | None, context: Context) -> Iterator[Evidence]:
    """The state of the GPU that trained, and whether its clock wandered."""
    yield from gpu_state(context.facts, run.reports[0].device, baseline)
    spread = context.clock_spread
    if spread is not None and spread > CLOCK_LIMIT:
        text = f"the GPU's clock varied by {spread:.0%} while it worked"
        yield Evidence(cause="machine", text=text, blocks="unstable", passing=True)


def gpu_state(facts: Facts | None, device: Device, baseline: Baseline | None) -> Iterator[Evidence]:
    """Nothing for a CPU run, or where it is not known which GPU trained."""
    chip = trained_gpu(facts, device)
    if chip is not None:
        yield from _of_chip(chip, baseline)


def _of_chip(chip: Gpu, baseline: Baseline | None) -> Iterator[Evidence]:
    if chip.mig:
        text = f"{chip.name} is split into MIG instances: the run had a part of the chip"
        yield Evidence(cause="machine", text=text, blocks="not-comparable")
    usual = (baseline.conditions.get("power_limit") if baseline else None) or chip.power_default
    if chip.power_limit and isinstance(usual, (int, float)) and chip.power_limit < 0.98 * usual:
        text = f"the power limit is {chip.power_limit:.0f} W, the baseline's {usual:.0f} W"
        yield Evidence(cause="machine", text=text, blocks="not-comparable")
    if chip.rows_pending or chip.retired_pending:
        text = "memory rows wait to be remapped: the GPU must be reset"
        yield Evidence(cause="machine", text=text, blocks="not-comparable")
    active = THROTTLING & set(chip.throttle_reasons or ())
    if active:
        text = f"the GPU slows itself down ({', '.join(sorted(active))})"
        yield Evidence(cause="machine", text=text, blocks="unstable", passing=True)
    if chip.processes:
        text = f"{chip.processes} other process{'es' if chip.processes > 1 else ''} used the same GPU"
        yield Evidence(cause="contention", text=text, blocks="unstable", passing=True)
