"""Will it fit, how long will it take, and where is that cheapest: one row for each target, and what follows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from envdoctor.knowledge import gpus
from envdoctor.locks.target import Target
from envdoctor.models import memory
from envdoctor.models.architecture import NotKnown
from envdoctor.models.formula import formula
from envdoctor.models.memory import Device, Job, PeakMemory
from envdoctor.models.pace import Pace, pace
from envdoctor.models.source import ModelSource
from envdoctor.speed.cost import Price
from envdoctor.values.frozen import frozen

RANK = 16  # of adapters, as the trainer's own for rft


@frozen
class JobOnTarget:
    """The job on one target. ``room``: bytes that may be planned with; ``rungs``: least recomputation first; ``why``:
    what could not be told, and why; ``cost`` in the currency of ``price``."""

    target: str
    title: str
    precision: str
    room: float | None
    rungs: tuple[PeakMemory, ...] = ()
    pace: Pace | None = None
    price: Price | None = None
    steps: int | None = None
    why: str = ""
    too_small: bool = False  # the states of the weights alone exceed the room

    @property
    def chosen(self) -> PeakMemory | None:
        """The least recomputation that fits."""
        return next((rung for rung in self.rungs if rung.fits), None)

    @property
    def fits(self) -> bool | None:
        """None: not known."""
        if self.rungs:
            return self.chosen is not None
        return False if self.too_small else None

    @property
    def seconds(self) -> float | None:
        """Of all steps; None where nobody said how many, or how long one takes is not known."""
        return None if self.steps is None or self.pace is None else self.steps * self.pace.seconds

    @property
    def cost(self) -> float | None:
        if self.price is None or self.seconds is None or not self.fits:
            return None
        return self.seconds / 3600 * self.price.per_hour


@frozen
class Alternative:
    """Options of ``fit`` with which a job fits that does not, and the memory that it takes then."""

    options: str
    memory: PeakMemory


@frozen
class Fit:
    """``asked``: the target that was named, also one of ``places``; None where all were meant. ``alternatives``: where
    the job does not fit that one."""

    source: ModelSource
    job: Job
    places: tuple[JobOnTarget, ...]
    asked: JobOnTarget | None = None
    alternatives: tuple[Alternative, ...] = ()

    @property
    def outcome(self) -> str:
        """fits, does-not-fit or unknown: on the target asked for, else on any of them."""
        judged = (self.asked,) if self.asked is not None else self.places
        if any(place.fits for place in judged):
            return "fits"
        return "unknown" if any(place.fits is None for place in judged) else "does-not-fit"

    @property
    def cheapest(self) -> tuple[JobOnTarget, ...]:
        """The cheapest place of each currency; amounts in different ones are not compared."""
        best: dict[str, JobOnTarget] = {}
        for place in self.places:
            if place.cost is None or place.price is None:
                continue
            word = place.price.currency
            known = best.get(word)
            if known is None or place.cost < (known.cost or 0.0):
                best[word] = place
        return tuple(best.values())


def fit(
    source: ModelSource,
    job: Job,
    targets: Iterable[Target],
    *,
    asked: Target | None = None,
    precision: str | None = None,
    steps: int | None = None,
    prices: Mapping[str, Price] | None = None,
) -> Fit:
    """Hold the job against each target. ``precision`` overrides what each target trains in."""
    prices = prices or {}

    def place(target: Target) -> JobOnTarget:
        return _place(source, job, target, precision, steps, prices.get(target.name))

    # A target without a GPU of its own (the CPU, one machine's own lock) is judged when it is asked for.
    found = tuple(place(target) for target in targets if target.gpu_names or target == asked)
    mine = next((one for one in found if asked is not None and one.target == asked.name), None)
    if asked is not None and mine is None:
        mine = place(asked)
        found = (mine, *found)
    others = () if asked is None or mine is None or mine.fits is not False else _alternatives(source, mine, job, asked)
    return Fit(source=source, job=job, places=found, asked=mine, alternatives=others)


def _alternatives(source: ModelSource, place: JobOnTarget, job: Job, target: Target) -> tuple[Alternative, ...]:
    """What would fit, what changes the training least first: fewer tokens at once, moments in 8 bits, Adafactor,
    adapters."""
    most = max((rung.largest for rung in place.rungs), default=0)
    ways = {f"--tokens {most}": replace(job, tokens=most)} if most > 1 else {}
    if not job.rank:
        if job.moments == "float32":
            ways["--moments 8bit"] = replace(job, moments="8bit")
        if job.moments != "adafactor":
            ways["--moments adafactor"] = replace(job, moments="adafactor")
        ways[f"--lora-rank {RANK}"] = replace(job, rank=RANK, moments="float32")
    found = []
    for options, other in ways.items():
        chosen = _place(source, other, target, place.precision, None, None).chosen
        if chosen is not None:
            found.append(Alternative(options=options, memory=chosen))
    return tuple(found)


def _place(
    source: ModelSource, job: Job, target: Target, precision: str | None, steps: int | None, price: Price | None
) -> JobOnTarget:
    form = precision or str(target.conditions.get("precision", "float32"))
    bare = JobOnTarget(
        target=target.name, title=target.title, precision=form, room=_room(target), steps=steps, price=price
    )  # fmt: skip
    if bare.room is None:
        return replace(bare, why="how much memory it has is not known")
    try:
        if source.shape is None:
            raise source.why or NotKnown("its layers are not known")
        device: Device = "cpu" if target.is_cpu else "cuda"
        rungs = memory.rungs(source.shape, job, device=device, precision=form, room=bare.room)
    except NotKnown as why:
        least = memory.states(source, job)
        return replace(
            bare,
            why=f"{why}; its weights and their states alone take {least / 1e9:,.0f} GB",
            too_small=least > bare.room,
        )
    chosen = next((rung for rung in rungs if rung.fits), rungs[-1])
    return replace(bare, rungs=rungs, pace=pace(source.shape, job, target, form, chosen.rung))


def _room(target: Target) -> float | None:
    """Bytes that may be planned with: the trainer's own share of what the card is sold with, or this machine has."""
    if target.is_cpu:
        pages = os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else -1
        return formula().MARGIN * pages * os.sysconf("SC_PAGE_SIZE") if pages > 0 else None
    said = target.conditions.get("memory")
    if not isinstance(said, (int, float)):
        card = next(filter(None, map(gpus.board, target.gpu_names)), None)
        said = card.memory if card else None
    return formula().MARGIN * float(said) * 1e9 if said else None
