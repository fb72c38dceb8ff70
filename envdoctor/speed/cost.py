"""Hours and money: what the training will take at the measured speed, and at the speed it should have."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Money per hour, and the currency as it was typed: a sign before the amount, a word after it, or nothing."""

    per_hour: float
    currency: str = ""

    @staticmethod
    def parse(text: str) -> Price:
        """Read ``2.49``, ``2.49/h``, ``$2.49/h`` or ``2.49 EUR/h``. Raises ValueError for anything else."""
        found = re.fullmatch(r"\s*([^\d\s.,+-]*)\s*(\d*\.?\d+)\s*([^\d\s/]*?)\s*(?:/\s*(?:h|hr|hour))?\s*", text)
        if found is None or (found[1] and found[3]):
            raise ValueError(f"{text!r} is not money per hour, like 2.49/h")
        amount = float(found[2])
        if not 0.0 < amount < 1e6:
            raise ValueError(f"{text!r} is not a price")
        return Price(per_hour=amount, currency=found[1] or found[3])

    def money(self, amount: float) -> str:
        """An amount in this currency and what it was computed with: "$2.05 at $2.49/h", "2.05 at 2.49/h"."""
        return f"{self._written(f'{amount:.2f}')} at {self._written(f'{self.per_hour:g}')}/h"

    def _written(self, number: str) -> str:
        return f"{number} {self.currency}" if self.currency.isalpha() else f"{self.currency}{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds and money (in the currency of the price; None without a price)."""

    seconds: float
    money: float | None = None
    price: Price | None = None

    @property
    def sentence(self) -> str:
        """ "46 min 47 s, $2.05"."""
        told = duration(self.seconds)
        return told if self.money is None or self.price is None else f"{told}, {self.price.money(self.money)}"


def cost(steps: int, steps_per_second: float, price: Price | None = None) -> Cost:
    """Time and money of ``steps`` optimizer steps. Raises ValueError for a speed that is not positive."""
    if steps_per_second <= 0.0 or steps < 0:
        raise ValueError("cost needs a positive speed and a number of steps")
    seconds = steps / steps_per_second
    return Cost(seconds=seconds, money=None if price is None else seconds / 3600.0 * price.per_hour, price=price)


def at_speed(now: Cost, factor: float) -> Cost:
    """The same work ``factor`` times as fast. Raises ValueError for a factor that is not positive."""
    if factor <= 0.0:
        raise ValueError("the same work cannot be done at no speed")
    return replace(now, seconds=now.seconds / factor, money=None if now.money is None else now.money / factor)


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
