"""What a killed run left behind: completed where the swap had happened, cleared away where it had not."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from envdoctor.change.clone import delete_tree
from envdoctor.change.inventory import forget
from envdoctor.change.journal import Generation, Journal, read, write
from envdoctor.change.lock import hold_lock
from envdoctor.change.overwrite import put_side
from envdoctor.change.places import KEPT_PREFIX, Places, places
from envdoctor.change.swap import finish, has_happened, hide_kept, settle
from envdoctor.change.trials import clear_trials
from envdoctor.change.users import end, users
from envdoctor.change.values import Recovered

KEPT_STATES = 2  # previous states that stay for undo; hard links make them cheap
KEPT_LOGS = 10  # of failed changes as well


def recover(environment: Path) -> Recovered:
    """Bring an environment whose change was interrupted back to its old or on to its new state.

    Costs one file look-up where nothing was interrupted. Raises `Trouble` when the journal is damaged, or when another
    envdoctor is at work.
    """
    where = places(environment)
    if not (where.control / "journal.json").exists():
        return Recovered()
    journal = read(where)
    if journal.pending is None and not journal.doomed:
        return Recovered()
    with hold_lock(where.control):
        return Recovered(actions=recover_locked(where))


def recover_locked(where: Places) -> tuple[str, ...]:
    """`recover` for a caller that holds the lock already."""
    actions: list[str] = []
    journal = read(where)
    pending = journal.pending
    if pending is not None:
        settle(where, pending.slot)
        if pending.back is not None and where.kept(pending.slot).is_dir():  # gone with an environment that was deleted
            put_side(where.real, where.kept(pending.slot), pending.back)
        if has_happened(where, pending):
            journal = finish(where, journal)
            actions.append(f"an interrupted change had reached its end: {journal.current.summary}")
        else:
            known = {state.slot for state in journal.states}
            for slot in {pending.slot, *_kept_numbers(where)} - known:  # first: the disk may be full
                end(where.slot(slot))
                _delete(where, slot)
                end(where.slot(slot))  # what was being started
                _delete(where, slot)
            journal = replace(journal, pending=None)
            actions.append(f"an interrupted change was taken back: {pending.incoming.summary}")
        write(where, journal)
        hide_kept(where, journal)
        forget(where, journal)
    journal = clear(where, journal)
    clear_trials(where)
    if not journal.states and not is_anything(where.real):
        (where.control / "journal.json").unlink(missing_ok=True)  # of an environment that never came to be
    return tuple(actions)


def is_anything(path: Path) -> bool:
    """Is there more than nothing, or an empty folder?"""
    try:
        return bool(os.listdir(path))
    except NotADirectoryError:
        return True
    except FileNotFoundError:
        return False


def _kept_numbers(where: Places) -> Iterator[int]:
    """What a change file by file that was interrupted while it collected both sides has left in the environment."""
    with contextlib.suppress(OSError):
        for name in os.listdir(where.real):
            number = name.removeprefix(KEPT_PREFIX)
            if number != name and number.isdecimal():
                yield int(number)


def clear(where: Places, journal: Journal) -> Journal:
    """Delete the slots that are doomed. They are named in the journal until they are gone."""
    for slot in journal.doomed:
        _delete(where, slot)
    if journal.doomed:
        journal = replace(journal, doomed=())
        write(where, journal)
    return journal


def _delete(where: Places, slot: int) -> None:
    delete_tree(where.slot(slot))
    delete_tree(where.kept(slot))


def _line(journal: Journal) -> list[Generation]:
    """The states that the current one came from, its parent first, as far back as they are kept."""
    known = {state.number: state for state in journal.states}
    line: list[Generation] = []
    parent = journal.current.parent
    while parent is not None and (state := known.pop(parent, None)) is not None:
        line.append(state)
        parent = state.parent
    return line


def prune(where: Places, journal: Journal) -> Journal:
    """Let go of all previous states but some: those that `undo` leads to, one after the other, then the newest.

    One that a program still runs from stays as well, and one that holds what others did to it and nothing else has.
    """
    kept = _line(journal)[:KEPT_STATES]
    kept += [state for state in reversed(journal.states) if state not in kept][: KEPT_STATES - len(kept)]
    spare = [state for state in journal.states if state not in kept and not state.changed]
    gone = [state for state in spare if state.slot is not None and not users(where.slot(state.slot))]
    numbers = {state.number for state in gone}
    for number in numbers | set(range(journal.last - KEPT_LOGS)):
        with contextlib.suppress(OSError):
            (where.control / f"change-{number}.log").unlink()
    if not gone:
        return journal
    journal = replace(
        journal,
        states=tuple(state for state in journal.states if state.number not in numbers),
        doomed=(*journal.doomed, *(state.slot for state in gone if state.slot is not None)),
    )
    write(where, journal)
    forget(where, journal)
    return clear(where, journal)
