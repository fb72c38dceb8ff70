"""Going back: the same exchange as the change itself, with a state that was kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from envdoctor.change import inventory
from envdoctor.change.earlier import earlier
from envdoctor.change.exchange import rename_new
from envdoctor.change.inventory import Departure
from envdoctor.change.journal import Generation, Journal, Pending, Side, location, read, write
from envdoctor.change.lock import hold_lock
from envdoctor.change.overwrite import replaced_files as overwritten
from envdoctor.change.overwrite import take_along
from envdoctor.change.places import Places, places
from envdoctor.change.recover import recover_locked
from envdoctor.change.signals import hold_signals
from envdoctor.change.swap import overwrite, record_finished, swap
from envdoctor.change.tree import Tree, abbreviate
from envdoctor.change.users import refuse_users, refuse_writers
from envdoctor.change.values import State, Undone
from envdoctor.errors import Trouble
from envdoctor.system.stopping import stoppable
from envdoctor.values import shell


def history(environment: Path) -> tuple[State, ...]:
    """The states of an environment, oldest first, the current one marked. Empty when envdoctor never changed it."""
    where = places(environment)
    if not (where.control / "journal.json").exists():
        return ()
    journal = read(where)
    return tuple(_state(where, one) for one in sorted((*journal.states, journal.current), key=lambda one: one.number))


def nobody(departure: Departure) -> None:
    """The answer where nobody is asked: what others did is not left behind. Raises `Trouble`."""
    if departure.behind:
        raise Trouble(
            f"going back would leave behind what was done since: {'; '.join(departure.behind)}",
            remedy="Say that it may: --yes. The state that is left is kept.",
        )


def undo(
    environment: Path, *, to: int | None = None, force: bool = False, agree: Callable[[Departure], None] = nobody
) -> Undone:
    """Put the state before the current one back, or the one numbered ``to``. Raises `Trouble` when there is none.

    The state that is left stays, so that ``undo --to`` leads back to it. ``agree`` is told what others have done to it
    since envdoctor made it, and of files of the other state that were edited in place; it raises where this may not be.
    """
    started = time.monotonic()
    where = places(environment)
    if not (where.control / "journal.json").exists():
        raise Trouble(
            "nothing to undo: envdoctor has not changed it",
            file=where.environment,
            remedy="What `envdoctor fix` changes can be undone, and nothing else.",
        )
    with stoppable(), hold_lock(where.control):
        recover_locked(where)
        journal = read(where)
        goal = _goal(where, journal, to)
        if not force:
            refuse_users(where)
            if goal.side is None and where.real.is_dir():
                refuse_writers(where)
        before = _state(where, journal.current)
        leaving, tree = _departure(where, journal, goal)
        if leaving.behind or leaving.shared:
            asked = time.monotonic()
            agree(leaving)
            started += time.monotonic() - asked
        journal = _go(where, _write_departure(where, journal, goal, leaving, tree), goal)
        return Undone(
            environment=where.environment,
            before=replace(before, current=False),
            now=_state(where, journal.current),
            seconds=time.monotonic() - started,
            behind=leaving.behind,
            shared=leaving.shared,
        )


def _departure(where: Places, journal: Journal, goal: Generation) -> tuple[Departure, Tree | None]:
    """What would be left behind, and what is in the environment now; None where nothing of it is moved as a whole."""
    assert goal.slot is not None
    if not where.real.is_dir() or not location(where, goal).is_dir():
        return Departure(), None
    try:
        if goal.side is None:
            return inventory.departure(where, journal.current.number, goal.number, where.slot(goal.slot))
        if goal.against != journal.current.number:
            return Departure(), None
        back: Side = "old" if goal.side == "new" else "new"
        replaced = overwritten(where.real, where.kept(goal.slot), back)
    except OSError as error:
        raise Trouble(
            f"cannot be looked through: {error.strerror}",
            file=error.filename,
            remedy="Check the permissions.",
            exit_code=3,
        ) from error
    return Departure(behind=(abbreviate(replaced),) if replaced else ()), None


def _write_departure(
    where: Places, journal: Journal, goal: Generation, leaving: Departure, tree: Tree | None
) -> Journal:
    """Write down what is left: it is kept for good where it alone holds what others did."""
    assert goal.slot is not None
    try:
        if tree is not None:
            inventory.record(where, journal.current.number, tree)
        elif goal.side is not None and leaving.behind:
            back: Side = "old" if goal.side == "new" else "new"
            kept = where.kept(goal.slot)
            take_along(where.real, kept, back, overwritten(where.real, kept, back))
    except OSError as error:
        raise Trouble(
            f"what is left cannot be written down: {error.strerror}; nothing was changed",
            file=where.control,
            remedy="Free some space, or make the folder writable.",
            exit_code=3,
        ) from error
    return replace(journal, current=replace(journal.current, changed=journal.current.changed or bool(leaving.behind)))


def _goal(where: Places, journal: Journal, to: int | None) -> Generation:
    current = journal.current
    if to == current.number:
        raise Trouble(f"it is at state {to} already", file=where.environment, remedy="See: envdoctor undo --list")
    goal = earlier(journal) if to is None else next((one for one in journal.states if one.number == to), None)
    if goal is not None:
        return goal
    gone = current.parent if to is None else to
    if gone is None:
        problem = f"nothing to undo: no state before the current one is kept ({current.number}: {current.summary})"
    else:
        problem = f"state {gone} is not kept; the current one is {current.number}"
    kept = [str(one.number) for one in journal.states]
    back = f"envdoctor undo --env {shell.word(str(where.environment))} --to {kept[-1]}" if kept else ""
    raise Trouble(
        problem,
        file=where.environment,
        remedy=f"Kept: {', '.join(kept)}. Go there with {back}" if kept else "See: envdoctor undo --list",
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
    with hold_signals():
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
        changed=one.changed,
    )
