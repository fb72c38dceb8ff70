"""What the GPU went through while a run was timed: a GPU is only throttled, capped or shared while it works.

Facts are collected before the run, when the chip idles at low clocks. While the run works, NVML is asked again every
few seconds, in a child of its own, and what was seen goes into the facts that the verdict is judged by.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

from envdoctor.facts import Facts, Gpu, Unavailable

BUSY = 50
"""Percent of utilisation from which a look counts as one at a working chip."""
SEEN_OFTEN = 0.2
"""Share of the looks that must show a throttle reason: touching a limit now and then is how boost clocks work."""


def merged(facts: Facts, looks: Sequence[Gpu]) -> Facts:
    """The facts with the first GPU as it was while it worked: usual reasons and clock, and the most neighbours.

    Our own training is one of the processes on the chip. Of looks at an idle chip (start-up, the end) only the
    neighbours count.
    """
    if isinstance(facts.gpus, Unavailable) or not facts.gpus.devices or not looks:
        return facts
    first = facts.gpus.devices[0]
    same = [look for look in looks if look.index == first.index]
    working = [look for look in same if (look.utilization or 0) >= BUSY]
    counts = [look.processes for look in same if look.processes is not None]
    others = max((count - 1 for count in counts), default=None)
    changed: dict[str, object] = {}
    if others is not None:
        changed["processes"] = max(others, first.processes or 0)
    if working:
        reasons = {reason for look in working for reason in (look.throttle_reasons or ())}
        often = {
            reason
            for reason in reasons
            if sum(reason in (look.throttle_reasons or ()) for look in working) >= SEEN_OFTEN * len(working)
        }
        changed["throttle_reasons"] = tuple(sorted(often))
        for name in ("sm_clock", "power_draw", "temperature"):
            values = [value for look in working if (value := getattr(look, name)) is not None]
            if values:
                middle = statistics.median(values)
                changed[name] = round(middle) if name != "power_draw" else middle
        limits = [look.power_limit for look in working if look.power_limit is not None]
        if limits:
            changed["power_limit"] = min(limits)
    seen = replace(first, **changed)  # type: ignore[arg-type]
    return replace(facts, gpus=replace(facts.gpus, devices=(seen, *facts.gpus.devices[1:])))


def unsteady_clock(looks: Sequence[Gpu]) -> float | None:
    """Log-sd of the SM clock over the looks at a working chip; None for fewer than three."""
    clocks = [math.log(look.sm_clock) for look in looks if look.sm_clock and (look.utilization or 0) >= BUSY]
    return statistics.stdev(clocks) if len(clocks) >= 3 else None
