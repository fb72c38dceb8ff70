"""Which states lie before the current one: where `undo` can lead. Every check asks, so little is imported for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.change.places import places
from envdoctor.errors import Trouble

if TYPE_CHECKING:
    from envdoctor.change.journal import Generation, Journal


def earlier(journal: Journal) -> Generation | None:
    """The state that `undo` brings back: the one that the current one was made from, or the last one before it."""
    current = journal.current
    if current.parent is not None:
        return next((state for state in journal.states if state.number == current.parent), None)
    older = [state for state in journal.states if state.number < current.number]
    return max(older, key=lambda state: state.number, default=None)


def earlier_folder(environment: Path) -> Path | None:
    """Where the state is kept that `undo` would bring back; None where there is none, or none with a folder of its own.

    Raises `Trouble` for a journal that cannot be read.
    """
    where = places(environment)
    if not where.control.is_dir():
        return None
    from envdoctor.change.journal import location, read

    state = earlier(read(where))
    if state is None or state.side is not None or state.slot is None:
        return None
    return location(where, state)


def can_go_back(environment: Path) -> bool | None:
    """Has `undo` a state to bring back? None where envdoctor has changed nothing, or its journal cannot be read."""
    try:
        where = places(environment)
        if not where.control.is_dir():
            return None
        from envdoctor.change.journal import read  # 9 ms that only an environment with a history costs

        return earlier(read(where)) is not None
    except (Trouble, OSError):
        return None


def is_settled(environment: Path) -> bool:
    """Whether no interrupted change has left anything to clear away. Raises `Trouble` for an unreadable journal."""
    where = places(environment)
    if not (where.control / "journal.json").exists():
        return True
    from envdoctor.change.journal import read

    journal = read(where)
    return journal.pending is None and not journal.doomed
