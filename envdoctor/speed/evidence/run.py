"""What is judged, and what is known beside it: every supplier of evidence gets these two and the baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from envdoctor.facts.model import Facts
from envdoctor.locks.target import Baseline, Target
from envdoctor.speed.breakdown import Breakdown
from envdoctor.speed.evidence.card import Card
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.machine import MachineSpeed
from envdoctor.speed.evidence.modelled_step import ModelledStep
from envdoctor.speed.evidence.pace_model import AtOnePace
from envdoctor.speed.evidence.relation import Relation
from envdoctor.speed.report import Report
from envdoctor.speed.statistics import Process


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRun:
    """The reports of fresh processes. ``processes``: one for each timed report, at the baseline's pace where known.

    ``steps_per_second``: by the clock, whatever the pace; None when nothing was timed.
    """

    reports: tuple[Report, ...]
    timed: tuple[Report, ...]
    processes: tuple[Process, ...]
    breakdown: Breakdown
    steps_per_second: float | None

    @property
    def tokens_per_second(self) -> dict[str, float]:
        """Trained tokens, real ones and slots per second, over all windows."""
        steps = sum(window.steps for report in self.timed for window in report.windows)
        if not steps or self.steps_per_second is None:
            return {}
        totals = {
            name: sum(window.tokens.get(name, 0.0) for report in self.timed for window in report.windows)
            for name in ("trained", "real", "slots")
        }
        return {name: total / steps * self.steps_per_second for name, total in totals.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """``comparable``: there is something to compare with, and a way to compare the machines.

    ``recorded``: the baseline's processes, at one pace where the run's are. ``clock_spread``: log-sd of the GPU's clock
    while it worked. ``machine`` and ``relation`` are None where nothing was timed or nothing is recorded.
    ``card``: the GPU against its kind; None for a CPU or an unknown one. ``step``: the timed step against what the card
    allows; None where that cannot be modelled.
    """

    target: Target | None
    facts: Facts | None
    clock_spread: float | None
    recorded: tuple[Process, ...] = ()
    relation: Relation | None = None
    pace: AtOnePace | None = None
    machine: MachineSpeed | None = None
    card: Card | None = None
    step: ModelledStep | None = None
    comparable: bool = False


Supplier = Callable[[TimedRun, Baseline | None, Context], Iterator[Evidence]]
