"""Hours and money: what the training will take at the measured speed, and at the speed it should have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds and money (in the currency of the price; None without a price)."""

    seconds: float
    money: float | None = None


def cost(steps: int, steps_per_second: float, price_per_hour: float | None = None) -> Cost:
    """Time and money of ``steps`` optimizer steps. Raises ValueError for a speed that is not positive."""
    if steps_per_second <= 0.0 or steps < 0:
        raise ValueError("cost needs a positive speed and a number of steps")
    seconds = steps / steps_per_second
    return Cost(seconds=seconds, money=None if price_per_hour is None else seconds / 3600.0 * price_per_hour)


def at_speed(now: Cost, factor: float) -> Cost:
    """The same work ``factor`` times as fast. Raises ValueError for a factor that is not positive."""
    if factor <= 0.0:
        raise ValueError("the same work cannot be done at no speed")
    return Cost(seconds=now.seconds / factor, money=None if now.money is None else now.money / factor)


def duration(seconds: float) -> str:
    """Seconds as people say them: "46 min 47 s", "5 h 20 min", "3 d 4 h"."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    for unit, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {unit} {rest} {smaller}" if rest else f"{whole // size} {unit}"
    raise AssertionError("whole is at least 60 here")
