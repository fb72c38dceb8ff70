"""How a measured run is timed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Protocol:
    """How a measured run is to be timed; the `measure` section of an order."""

    windows: int = 20
    window_seconds: float = 0.5
    warmup_tolerance: float = 0.03
    max_warmup_seconds: float = 20.0
    max_seconds: float = 60.0
    least_seconds: float = 0.0  # of own windows together, however many that takes
    probes: bool = True
