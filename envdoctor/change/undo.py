"""Going back: the same exchange as the change itself, with a state that was kept."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from pathlib import Path

from envdoctor.change.earlier import earlier
from envdoctor.change.exchange import rename_new
from envdoctor.change.journal import Generation, Journal, Pending, location, read, write
from envdoctor.change.lock import locked
from envdoctor.change.places import Places, places
from envdoctor.change.recover import recover_locked
from envdoctor.change.signals import stoppable, undisturbed
from envdoctor.change.swap import overwrite, record_finished, swap
from envdoctor.change.users import refuse_users
from envdoctor.change.values import State, Undone
from envdoctor.errors import Trouble


def history(environment: Path) -> tuple[State, ...]:
    """The states of an environment, oldest first, the current one marked. Empty when envdoctor never changed it."""
    where = places(environment)
    if not (where.control / "journal.json").exists():
        return ()
    journal = read(where)
    return tuple(_state(where, one) for one in sorted((*journal.states, journal.current), key=lambda one: one.number))


def undo(environment: Path, *, to: int | None = None, force: bool = False) -> Undone:
    """Put the state before the current one back, or the one numbered ``to``. Raises `Trouble` when there is none.

    The state that is left stays, so that ``undo --to`` leads back to it.
    """
    started = time.monotonic()
    where = places(environment)
    if not (where.control / "journal.json").exists():
        raise Trouble("nothing to undo: envdoctor has not changed it", file=where.environment)
    with stoppable(), locked(where.control):
        recover_locked(where)
        journal = read(where)
        goal = _goal(where, journal, to)
        if not force:
            refuse_users(where)
        before = _state(where, journal.current)
        journal = _go(where, journal, goal)
        return Undone(
            environment=where.environment,
            before=replace(before, current=False),
            now=_state(where, journal.current),
            seconds=time.monotonic() - started,
        )


def _goal(where: Places, journal: Journal, to: int | None) -> Generation:
    current = journal.current
    if to == current.number:
        raise Trouble(f"it is at state {to} already", file=where.environment)
    goal = earlier(journal) if to is None else next((one for one in journal.states if one.number == to), None)
    if goal is not None:
        return goal
    gone = current.parent if to is None else to
    if gone is None:
        problem = f"nothing to undo: no state before the current one is kept ({current.number}: {current.summary})"
    else:
        problem = f"state {gone} is not kept; the current one is {current.number}"
    kept = [str(one.number) for one in journal.states]
    back = f"envdoctor undo --env {shlex.quote(str(where.environment))} --to {kept[-1]}" if kept else ""
    raise Trouble(
        problem, file=where.environment, remedy=f"Kept: {', '.join(kept)}. Go there with {back}" if kept else ""
    )


def _go(where: Places, journal: Journal, goal: Generation) -> Journal:
    assert goal.slot is not None
    path = location(where, goal)
    if goal.side is not None and goal.against != journal.current.number:
        raise Trouble(
            f"state {goal.number} was changed file by file and leads back from state {goal.against} only",
            file=where.environment,
            remedy=f"Go one step at a time: envdoctor undo --to {goal.against}",
        )
    if not path.is_dir():
        raise Trouble("the kept state is gone", file=path, remedy="Run envdoctor fix to build it again.", exit_code=3)
    try:
        if goal.side is not None:
            return overwrite(where, journal, goal.slot, goal, goal.side)
        if where.real.is_dir():
            return swap(where, journal, goal.slot, goal)
        return _restore(where, journal, goal, goal.slot)
    except OSError as error:
        recover_locked(where)
        raise Trouble(
            f"cannot be put back: {error.strerror}", file=path, remedy="Check the permissions.", exit_code=3
        ) from error


def _restore(where: Places, journal: Journal, goal: Generation, slot: int) -> Journal:
    """The environment was deleted by somebody: the kept state takes its name."""
    with undisturbed():
        pending = Pending(action="swapping", slot=slot, incoming=goal, inode=where.slot(slot).stat().st_ino)
        journal = replace(journal, pending=pending)
        write(where, journal)
        rename_new(where.slot(slot), where.real)
        return record_finished(where, journal)


def _state(where: Places, one: Generation) -> State:
    return State(
        number=one.number,
        made=one.made,
        summary=one.summary,
        path=location(where, one),
        current=one.slot is None,
    )
