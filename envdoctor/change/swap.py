"""Putting another state into the environment's place, and finding out afterwards which of the two is there.

`exchange` is one system call. Where the file system lacks it three renames do the same: for an instant there is no
environment, and a kill in that instant is repaired by `settle` at the next start.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from envdoctor.change.exchange import UNSUPPORTED, exchange, flush_directory
from envdoctor.change.journal import Generation, Journal, Pending, Side, mark_of, write
from envdoctor.change.overwrite import put_side
from envdoctor.change.places import Places
from envdoctor.change.signals import hold_signals
from envdoctor.change.tree import hide, reveal
from envdoctor.errors import Trouble


def swap(
    places: Places, journal: Journal, slot: int, incoming: Generation, last_look: Callable[[], None] = lambda: None
) -> Journal:
    """Exchange the environment with the state in ``slot`` and record it. Raises OSError; then nothing has changed.

    ``last_look`` comes right before; what it raises stops the exchange.
    """
    path = places.slot(slot)
    pending = Pending(action="swapping", slot=slot, incoming=incoming, inode=path.stat().st_ino)
    with hold_signals():
        journal = replace(journal, pending=pending)
        write(places, journal)
        reveal(path)
        last_look()
        try:
            exchange(places.real, path)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
            _three_renames(places, path)
        return record_finished(places, journal)


def _three_renames(places: Places, slot: Path) -> None:
    aside = places.aside
    places.real.rename(aside)
    try:
        slot.rename(places.real)
    except BaseException:
        aside.rename(places.real)
        raise
    aside.rename(slot)


def overwrite(places: Places, journal: Journal, kept: int, incoming: Generation, side: Side) -> Journal:
    """Change the environment file by file to one side of ``kept``. Raises OSError; then the other side is put back."""
    back: Side = "old" if side == "new" else "new"
    with hold_signals():
        journal = replace(journal, pending=Pending(action="overwriting", slot=kept, incoming=incoming, back=back))
        write(places, journal)
        put_side(places.real, places.kept(kept), side)
        journal = finish(places, journal)
        write(places, journal)
        return journal


def record_finished(places: Places, journal: Journal) -> Journal:
    """Make the renames last, and record them. What cannot be recorded now, `recover` finds out from the marks."""
    journal = finish(places, journal)
    with contextlib.suppress(OSError, Trouble):
        flush_directory(places.parent)
        write(places, journal)
        hide_kept(places, journal)
    return journal


def hide_kept(places: Places, journal: Journal) -> None:
    """Keep git off every state that lies beside the environment, and only off those."""
    reveal(places.real)
    for state in journal.states:
        if state.slot is not None and state.side is None:
            hide(places.slot(state.slot))


def settle(places: Places, slot: int) -> None:
    """Finish or take back the renames that a kill interrupted, so that both names exist again."""
    if not os.path.lexists(places.aside):
        return
    if os.path.lexists(places.real):
        places.aside.rename(places.slot(slot))
    else:
        places.aside.rename(places.real)
    flush_directory(places.parent)


def has_happened(places: Places, pending: Pending) -> bool:
    """Whether the incoming state is in the environment's place. A change file by file that is pending has not ended."""
    if pending.action == "overwriting":
        return False
    if mark_of(places.real) != pending.incoming.mark:
        return False
    if mark_of(places.slot(pending.slot)) != pending.incoming.mark:
        return True
    with contextlib.suppress(OSError):
        return places.real.stat().st_ino == pending.inode
    return False


def finish(places: Places, journal: Journal) -> Journal:
    """The journal after the pending step: the incoming state is current, the outgoing one lies in the slot."""
    pending = journal.pending
    assert pending is not None
    states = [state for state in journal.states if state.number != pending.incoming.number]
    if pending.action == "overwriting":
        outgoing = replace(journal.current, slot=pending.slot, side=pending.back, against=pending.incoming.number)
        states.append(outgoing)
    elif os.path.lexists(places.slot(pending.slot)):
        states.append(replace(journal.current, slot=pending.slot))
    # What a change file by file kept lies inside the environment, and goes with the state that has it.
    states = [one for one in states if one.side is None or (one.slot and places.kept(one.slot).is_dir())]
    return replace(
        journal,
        current=replace(pending.incoming, slot=None, side=None, against=None),
        states=tuple(sorted(states, key=lambda state: state.number)),
        pending=None,
        last=max(journal.last, pending.incoming.number),
    )
