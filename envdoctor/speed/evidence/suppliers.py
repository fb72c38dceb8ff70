"""Who is asked for evidence, in the order in which a reader wants to hear of it."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.locks.target import Baseline
from envdoctor.speed.evidence.baseline_fit import baseline_fit, limits
from envdoctor.speed.evidence.differences import differences
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.gpu import gpu
from envdoctor.speed.evidence.machine_fit import machine_fit
from envdoctor.speed.evidence.pace import pace
from envdoctor.speed.evidence.pressure import pressure
from envdoctor.speed.evidence.run import Context, Supplier, TimedRun
from envdoctor.speed.evidence.windows import agreement, windows


def relation(run: TimedRun, baseline: Baseline | None, context: Context) -> Iterator[Evidence]:
    """Another lock, another machine, a derived baseline: what distance costs."""
    yield from context.relation.remarks if context.relation is not None else ()


def card(run: TimedRun, baseline: Baseline | None, context: Context) -> Iterator[Evidence]:
    """Where the card falls short of its kind: the verdict itself without a baseline, else a cause of a slow run."""
    for one in context.card.short if context.card is not None else ():
        yield Evidence(cause="machine", text=one.text, blocks=None if context.comparable else "slower")


def step_model(run: TimedRun, baseline: Baseline | None, context: Context) -> Iterator[Evidence]:
    """Where the step is slower than its card allows, by more than the model may err: the verdict without a baseline."""
    step = context.step
    if step is not None and step.slower and not context.comparable:
        yield Evidence(cause=step.cause, text=f"{step.misses}; {step.text}", plain=step.misses, blocks="slower")


SUPPLIERS: tuple[Supplier, ...] = (
    relation,
    pace,
    windows,
    baseline_fit,
    gpu,
    limits,
    differences,
    machine_fit,
    card,
    step_model,
    pressure,
    agreement,
)


def all_evidence(run: TimedRun, baseline: Baseline | None, context: Context) -> tuple[Evidence, ...]:
    return tuple(found for supplier in SUPPLIERS for found in supplier(run, baseline, context))
