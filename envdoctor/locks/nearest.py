"""Which target a GPU takes: the one that names it, else the one of its chip, its capability or its generation."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from envdoctor.knowledge import gpus
from envdoctor.knowledge.generations import generation
from envdoctor.knowledge.gpus import GpuModel
from envdoctor.knowledge.numbers import capability
from envdoctor.locks.target import Target

OF_THE_BOARD = frozenset({"power_limit", "memory", "gpus"})
"""Conditions under which a target's speeds were recorded: they go when its speeds do."""
OTHER_TRADE = 1.0
"""What a GeForce card is away from one for data centres or workstations, in the log ratios that `_distance` adds up."""


class Board(NamedTuple):
    """A GPU as it was found: its printed name, its capability, and what is known of its model."""

    name: str
    capability: str | None
    model: GpuModel | None = None
    memory: float | None = None  # GB, as read
    power: float | None = None  # W by default, as read


def plain(name: str) -> str:
    """A name for comparing: letters and digits, without the maker's."""
    return re.sub(r"[^a-z0-9]", "", name.lower().replace("nvidia", "").replace("geforce", ""))


def target_named(targets: Iterable[Target], name: str, model: GpuModel | None) -> Target | None:
    """The target that names this GPU: by its spelling or another of the same row, else by a part of the name ("A100")
    with nothing beside it that makes another card of it. None where no target does."""
    every = [(listed, target) for target in targets for listed in target.gpu_names]
    spelled = plain(name)
    for listed, target in every:  # before any row of the table is read
        if plain(listed) == spelled:
            return target
    for listed, target in every:
        theirs = gpus.identify(listed)
        if model is not None and theirs is not None and model.name == theirs.name:
            return target
    return next((target for listed, target in every if _part(name, model, listed)), None)


def _part(name: str, model: GpuModel | None, listed: str) -> bool:
    if model is not None and gpus.identify(listed) is not None:
        return gpus.models().holds(name, listed)
    return bool(plain(listed)) and plain(listed) in plain(name)


def nearest(board: Board, targets: Iterable[Target]) -> tuple[Target, str] | None:
    """The target whose flags and stacks suit a GPU that none names, and what they share; None without one.

    Those for the same chip come first, then those of its compute capability, then those of its generation; among them
    the one whose board is nearest in size. Speeds are of the very board and are left behind.
    """
    candidates = [target for target in targets if target.gpu_names]
    for shared, alike in _kinships(board, candidates):
        if alike:
            found = min(alike, key=lambda target: _distance(board, target))
            kept = {key: value for key, value in found.conditions.items() if key not in OF_THE_BOARD}
            return replace(found, baselines=(), conditions=kept, capability=board.capability), shared
    return None


def _kinships(board: Board, targets: Sequence[Target]) -> Iterator[tuple[str, list[Target]]]:
    chip = board.model.chip if board.model else None
    if chip is not None:
        yield f"has the same chip {chip}", [t for t in targets if any(model.chip == chip for model in _models(t))]
    if board.capability is None:
        return
    same = [target for target in targets if target.capability == board.capability]
    yield f"has the same compute capability {board.capability}", same
    ours = generation(board.capability)
    if ours is None or ours.embedded:  # Jetson boards have an operating system and builds of their own
        return
    yield (
        f"is of the same generation, {ours.name}",
        [
            target
            for target in targets
            if (theirs := generation(target.capability)) is not None
            and (theirs.name, theirs.capability[0]) == (ours.name, ours.capability[0])
        ],
    )


def _models(target: Target) -> Iterator[GpuModel]:
    return (model for name in target.gpu_names if (model := gpus.identify(name)) is not None)


def _distance(board: Board, target: Target) -> tuple[float, float]:
    """How far the nearest board of the target is, and its size: of equally near ones the smallest promises least."""
    return min(((_apart(board, model), model.sms or 0.0) for model in _models(target)), default=(math.inf, 0.0))


def _apart(board: Board, model: GpuModel) -> float:
    """The sum of the log ratios of what is known of both, and the trade."""
    ours = board.model
    pairs = (
        (ours and ours.sms, model.sms),
        ((ours and ours.memory) or board.memory, model.memory),
        (ours and ours.bandwidth, model.bandwidth),
        ((ours and ours.power) or board.power, model.power),
    )
    known = sum(abs(math.log(a / b)) for a, b in pairs if a and b)
    return known + (OTHER_TRADE if ("GeForce" in board.name) != model.name.startswith("GeForce ") else 0.0)


def weakest(boards: Iterable[Board]) -> Board:
    """Of different GPUs the one that decides what all can run."""
    return min(boards, key=lambda board: (capability(board.capability) or (99, 0), board.name))
