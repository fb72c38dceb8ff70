"""Many machines: what they have in common, and which one is the odd one out.

One pass, in which memory is bounded by how much machines differ, not by how many they are: reports that say the same
are counted together, with a few names of each. Once too many differ they are folded into counts by subject.
Of speeds, each number is kept (8 bytes), with the names of the slowest alone.
"""

from __future__ import annotations

import statistics
from array import array
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from envdoctor.facts import fleet_values
from envdoctor.facts.fleet_values import Pair
from envdoctor.facts.model import Facts
from envdoctor.values.frozen import frozen

NAMES = 20  # names of machines kept with a value; of more, the number is told
ALIKE = 2000  # different sets of packages, or of settings, before they are folded
VALUES = 1000  # different values of one subject; a fleet that has more does not share it
SLOWER = 0.10  # below the median by more than this, and by more than SPREAD times the usual distance from it
SPREAD = 5.0  # 1.4826 x MAD is the standard deviation of a normal distribution: one in 3.5 million is below 5 of them
MISSING = "missing"


@frozen
class Some:
    """Machines: how many, and the first ``NAMES`` of them in the order of their names."""

    count: int
    names: tuple[str, ...]


@frozen
class Oddity:
    """One thing in which machines differ from what most of them have."""

    subject: str
    usual: str
    shared: int  # machines that have the usual value
    odd: Mapping[str, Some]  # other value -> who has it


@frozen
class Speed:
    """One speed over the fleet, in its own unit (more is faster), and who is slower than machines usually differ."""

    subject: str
    machines: int
    median: float
    lowest: float
    highest: float
    slow: Mapping[str, float]  # machine -> its speed; at most NAMES
    slow_count: int


@frozen
class FleetComparison:
    machines: int  # reports of facts
    groups: tuple[Some, ...]  # machines whose facts are all alike, the largest group first; at most NAMES groups
    group_count: int
    oddities: tuple[Oddity, ...]
    speeds: tuple[Speed, ...]
    odd_one_out: str | None  # the machine with by far the most differences of its own

    @property
    def alike(self) -> bool:
        return not self.oddities and not any(speed.slow for speed in self.speeds)


class _Counted:
    """Machines counted, with the smallest of their names: the order in which they come does not matter."""

    __slots__ = ("count", "names")

    def __init__(self) -> None:
        self.count, self.names = 0, []  # type: int, list[str]

    def add(self, name: str) -> None:
        self.count += 1
        if len(self.names) < NAMES or name < self.names[-1]:
            insort(self.names, name)
            del self.names[NAMES:]

    def join(self, other: _Counted) -> None:
        self.count += other.count
        self.names = sorted([*self.names, *other.names])[:NAMES]

    @property
    def some(self) -> Some:
        return Some(count=self.count, names=tuple(self.names))


class _Section:
    """Sets of pairs of one kind. ``absence``: a subject that a machine lacks is a difference too."""

    def __init__(self, *, absence: bool) -> None:
        self._absence = absence
        self._alike: dict[frozenset[Pair], _Counted] = {}
        self._folded: dict[str, dict[str, _Counted]] = {}
        self._read = 0

    def add(self, pairs: frozenset[Pair], name: str) -> None:
        self._read += 1
        found = self._alike.get(pairs)
        if found is None:
            if len(self._alike) >= ALIKE:
                self._fold()
            found = self._alike[pairs] = _Counted()
        found.add(name)

    def _fold(self) -> None:
        for pairs, counted in self._alike.items():
            for subject, value in pairs:
                values = self._folded.setdefault(subject, {})
                if value in values or len(values) < VALUES:
                    values.setdefault(value, _Counted()).join(counted)
        if self._absence:
            for pairs, counted in self._alike.items():
                for subject in self._folded.keys() - {subject for subject, _ in pairs}:
                    self._folded[subject].setdefault(MISSING, _Counted()).join(counted)
        self._alike.clear()

    def counts(self) -> Mapping[str, Mapping[str, _Counted]]:
        self._fold()
        if self._absence:
            for values in self._folded.values():
                lacking = self._read - sum(counted.count for counted in values.values())
                if lacking > 0:  # machines that were folded before the subject was first seen; their names are gone
                    values.setdefault(MISSING, _Counted()).count += lacking
        return self._folded


class Fleet:
    """Reports of machines, taken in one after the other; `compared` says what they have in common."""

    def __init__(self) -> None:
        self._packages, self._others = _Section(absence=True), _Section(absence=False)
        self._groups: dict[int, _Counted] = {}
        self._machines = 0
        self._speeds: dict[str, tuple[array[float], list[tuple[float, str]]]] = {}

    def add(self, name: str, document: Mapping[str, Any]) -> None:
        """Take in a parsed report of ``facts``, ``verify`` or ``preflight``."""
        facts = document.get("facts")
        if isinstance(facts, dict):
            self._machines += 1
            packages = fleet_values.packages(facts)
            held = None if packages is None else frozenset(packages)
            others = frozenset(fleet_values.others(facts))
            if held is not None:
                self._packages.add(held, name)
            self._others.add(others, name)
            group = hash((held, others))
            if group in self._groups or len(self._groups) < 10 * ALIKE:
                self._groups.setdefault(group, _Counted()).add(name)
        for subject, rate in fleet_values.speeds(document):
            if subject not in self._speeds and len(self._speeds) >= VALUES:
                continue
            rates, slowest = self._speeds.setdefault(subject, (array("d"), []))
            rates.append(rate)
            if len(slowest) < NAMES or rate < slowest[-1][0]:
                insort(slowest, (rate, name))
                del slowest[NAMES:]

    def compared(self) -> FleetComparison:
        """What is usual, and who differs."""
        counts = {**self._packages.counts(), **self._others.counts()}
        oddities, alone = [], Counter[str]()
        for subject in sorted(counts):
            values = counts[subject]
            if len(values) < 2:
                continue
            usual = max(sorted(values), key=lambda value: values[value].count)
            odd = {value: found.some for value, found in sorted(values.items()) if value != usual}
            oddities.append(Oddity(subject=subject, usual=usual, shared=values[usual].count, odd=odd))
            differing = [name for some in odd.values() for name in some.names]
            total = sum(found.count for found in values.values())
            if len(differing) == 1 and total > 2:  # of two machines, neither is the odd one
                alone.update(differing)
        groups = sorted((found.some for found in self._groups.values()), key=lambda some: (-some.count, some.names))
        return FleetComparison(
            machines=self._machines,
            groups=tuple(groups[:NAMES]),
            group_count=len(groups),
            oddities=tuple(oddities),
            speeds=tuple(_speed(name, *self._speeds[name]) for name in sorted(self._speeds)),
            odd_one_out=_standing_out(alone),
        )


def compare(fleet: Mapping[str, Facts] | Iterable[tuple[str, Facts]]) -> FleetComparison:
    """Compare machines by their facts. The order of machines does not matter to the result."""
    from envdoctor.facts import wire

    found = Fleet()
    for name, facts in fleet.items() if isinstance(fleet, Mapping) else fleet:
        found.add(name, {"facts": wire.to_json(facts)})
    return found.compared()


def floor_of(rates: Iterable[float]) -> float:
    """Below this a speed is slower than machines usually differ: the median less a tenth, or less the spread."""
    known = list(rates)
    middle = statistics.median(known)
    spread = SPREAD * 1.4826 * statistics.median(abs(rate - middle) for rate in known)
    return middle - max(spread, SLOWER * middle)


def _speed(subject: str, rates: array[float], slowest: list[tuple[float, str]]) -> Speed:
    floor = floor_of(rates) if len(rates) > 2 else 0.0
    slow = {name: rate for rate, name in slowest if rate < floor}
    return Speed(
        subject=subject,
        machines=len(rates),
        median=statistics.median(rates),
        lowest=min(rates),
        highest=max(rates),
        slow=slow,
        slow_count=sum(rate < floor for rate in rates),
    )


def _standing_out(alone: Counter[str]) -> str | None:
    """The machine alone with its values at least twice as often as any other."""
    (first, most), *rest = [*alone.most_common(2), ("", 0)]
    return first if most and most >= 2 * max((count for _, count in rest), default=0) else None
