"""One change, from the lock to the swap. Until the swap everything happens in a clone that nobody uses."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from envdoctor.change import build, inventory
from envdoctor.change.distributions import forget_records
from envdoctor.change.exchange import begin_flush, flush_file_system, rename_new
from envdoctor.change.installers import choose
from envdoctor.change.journal import Generation, Journal, Pending, location, new_mark, read, set_mark, write
from envdoctor.change.layout import ask, python_of
from envdoctor.change.lock import hold_lock
from envdoctor.change.log import Log
from envdoctor.change.meanwhile import Watch
from envdoctor.change.overwrite import compare, keep
from envdoctor.change.places import Places, places
from envdoctor.change.recover import clear, is_anything, prune, recover, recover_locked
from envdoctor.change.signals import hold_signals, leave_signals
from envdoctor.change.strategy import decide, foreign_entries, outline, preview
from envdoctor.change.swap import overwrite, record_finished, swap
from envdoctor.change.tree import abbreviate, difference, walk
from envdoctor.change.users import refuse_users, refuse_writers
from envdoctor.change.values import Applied, Change, Strategy
from envdoctor.errors import Trouble
from envdoctor.sources import sources
from envdoctor.system.stopping import stoppable

Verify = Callable[[Path], str | None]
Progress = Callable[[str], None]
Confirm = Callable[[Change, Strategy], Change]


class Outdated(Exception):
    """What was begun is not what is wanted, or cannot be made beside an examination: nothing was changed."""


def apply(change: Change, *, verify: Verify, progress: Progress, confirm: Confirm | None = None) -> Applied:
    """Change an environment, or make it if it does not exist: the old state or the new one, at every instant.

    ``confirm`` says what the change is to be, once its packages lie in the clone and before anything else does; it
    raises `Outdated` where they are the wrong ones. Without it everything is known from the beginning.
    ``verify`` gets the path of the finished clone and answers None, or why it is not healthy: then nothing is changed.
    Raises `Trouble` for everything that stands in the way; the environment is as it was.
    """
    forget_records()
    for action in recover(change.environment).actions:
        progress(action)
    started = time.monotonic()
    where = places(change.environment)
    # Only an environment of its own is ever locked: a base Python gets nothing written beside it.
    if (outlined := outline(change, where)) is not None:
        if confirm is not None:
            raise Outdated
        _refuse(outlined)
        return create(change, verify=verify, progress=progress)
    layout = ask(where.environment)
    if layout.untouchable:
        if confirm is not None:
            raise Outdated
        strategy = decide(change, where, layout)
        _refuse(strategy)
        return _beside(change, strategy, verify, progress)
    with stoppable(), hold_lock(where.control) as lock:
        for action in recover_locked(where):
            progress(action)
        if not change.force:
            refuse_users(where)
        strategy = decide(change, where, layout, count=False)
        if confirm is not None and strategy.kind == "file-by-file":
            raise Outdated
        _refuse(strategy)
        if not change.force and strategy.kind != "file-by-file":
            refuse_writers(where)
        task = _begin(change, where, lock, progress)
        foreign = frozenset(foreign_entries(where, layout))
        with _all_or_nothing(task):
            watch = Watch(where.real, foreign)
            built = build.changed_clone(
                task,
                layout,
                foreign,
                copy=strategy.copies,
                confirm=None if confirm is None else functools.partial(confirm, change, strategy),
            )
            task = built.task
            look = _FirstLook(task, built, watch) if strategy.kind != "file-by-file" else None
            if look is None:
                built.require_complete()
            with look or contextlib.nullcontext():
                _check(task, verify)
            if not change.force:
                refuse_users(where)
            progress("putting the new state into place")
            if look is not None:
                journal = _exchange(task, built, watch, look)
            else:
                journal = _file_by_file(task, built, watch)
        journal, missed = _late(task, watch, journal)
        try:
            prune(where, journal)
        except (Trouble, OSError) as error:
            task.log.line(f"older states could not be deleted: {error}")
        return Applied(
            strategy=strategy,
            seconds=time.monotonic() - started,
            kept=built.kept,
            previous=next(
                (location(where, one) for one in journal.states if one.number == journal.current.parent), None
            ),
            log=task.log.path,
            missed=missed,
        )


def _refuse(strategy: Strategy) -> None:
    if strategy.kind == "refuse":
        raise Trouble(strategy.reason, file=strategy.environment, remedy=strategy.remedy, exit_code=3)


def _beside(change: Change, strategy: Strategy, verify: Verify, progress: Progress) -> Applied:
    """A new environment on the Python that is left alone."""
    base = change.python or os.fspath(python_of(change.environment))
    change = replace(change, environment=strategy.environment, python=base)
    made = create(change, verify=verify, progress=progress)
    return replace(made, strategy=strategy)


def create(change: Change, *, verify: Verify, progress: Progress) -> Applied:
    """Make an environment of all ``wanted`` pins under a temporary name beside its path, and rename it into place."""
    started = time.monotonic()
    for action in recover(change.environment).actions:
        progress(action)
    strategy = preview(change)
    if strategy.kind != "create":
        reason = strategy.reason if strategy.kind == "refuse" else "exists already"
        raise Trouble(reason, file=change.environment, remedy=strategy.remedy or "Name another path.", exit_code=3)
    where = places(change.environment)
    try:
        where.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Trouble(f"cannot be made: {error.strerror}", file=where.parent, remedy="Name another path.") from error
    with stoppable(), hold_lock(where.control) as lock:
        for action in recover_locked(where):
            progress(action)
        task = _begin(change, where, lock, progress, new=True)
        with _all_or_nothing(task):
            build.new_clone(task)
            _check(task, verify)
            progress("putting it into place")
            flush_file_system(task.slot)
            with hold_signals():
                if where.real.is_dir() and not os.listdir(where.real):
                    task.slot.rename(where.real)  # rename(2) replaces an empty directory
                else:
                    rename_new(task.slot, where.real)
                record_finished(where, task.journal)
        return Applied(strategy=strategy, seconds=time.monotonic() - started, kept=(), previous=None, log=task.log.path)


class _FirstLook:
    """What others wrote into the environment until now is brought into the clone, and both are listed, while the clone
    is verified, which mostly waits. What they write until the exchange itself is left for the last look."""

    def __init__(self, task: build.Task, built: build.BuiltClone, watch: Watch) -> None:
        self.only_here = False  # the environment holds what others did to it and the clone has not
        self._task, self._built, self._watch = task, built, watch
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="look", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for it. Raises what it met, also where the verification has stumbled over the same."""
        self._thread.join()
        if self._error is not None and (kind is None or issubclass(kind, Trouble)):
            raise self._error

    def _run(self) -> None:
        task, built, watch = self._task, self._built, self._watch
        leave_signals()
        try:
            built.require_complete()
            watch.settle(task.slot, built.going, built.done)
            done = inventory.since(task.where, task.journal.current.number, watch.seen)
            self.only_here = done is not None and bool(inventory.only_here(done, watch.seen, task.slot))
            incoming = walk(task.slot)
            inventory.record(task.where, task.incoming.number, incoming)
            inventory.draft(task.where, task.journal.current.number, watch.seen)
            watch.share(incoming)
            flush_file_system(task.slot)
        except Exception as error:  # noqa: BLE001 - it is raised where the thread is waited for
            self._error = error


def _exchange(task: build.Task, built: build.BuiltClone, watch: Watch, look: _FirstLook) -> Journal:
    """Write down what is in the state that will be left, and exchange it for the clone. It is kept for good where it
    alone holds others' work."""
    where, current = task.where, task.journal.current
    if look.only_here:
        current = replace(current, changed=True)
    inventory.adopt(where, current.number)

    def last_look() -> None:
        if watch.settle(task.slot, built.going, built.done):
            inventory.record(where, task.incoming.number, walk(task.slot))
            flush_file_system(task.slot)
            watch.settle(task.slot, built.going, built.done)

    flush_file_system(task.slot)
    return swap(where, replace(task.journal, current=current), task.number, task.incoming, last_look=last_look)


def _file_by_file(task: build.Task, built: build.BuiltClone, watch: Watch) -> Journal:
    where = task.where
    others = watch.altered(task.slot, built.going, built.done)
    different = compare(where.real, task.slot, built.done, built.left_out, others)
    kept = where.free_slot(task.journal.slots())
    keep(where.real, task.slot, where.kept(kept), different)
    changed = different.old.keys() | different.new.keys()
    clash = watch.altered(task.slot, built.going, built.done, linked=True) & changed
    if clash:
        raise Trouble(
            f"was changed by somebody else meanwhile: {abbreviate(tuple(clash))}",
            file=where.environment,
            remedy="Run it again when that has ended.",
            exit_code=3,
        )
    doomed = (*task.journal.doomed, task.number)
    journal = overwrite(where, replace(task.journal, doomed=doomed), kept, task.incoming, "new")
    return clear(where, journal)


def _late(task: build.Task, watch: Watch, journal: Journal) -> tuple[Journal, tuple[str, ...]]:
    """Take over what was written between the last look and the exchange; what cannot be is told, and kept for good."""
    left = next((one for one in journal.states if one.slot == task.number and one.side is None), None)
    if left is None:
        return journal, ()
    try:
        before = watch.seen
        missed = watch.late(task.slot, task.where.real)
        if difference(before, watch.seen).paths:
            inventory.record(task.where, left.number, watch.seen)
        if missed:
            states = tuple(replace(one, changed=True) if one is left else one for one in journal.states)
            journal = replace(journal, states=states)
            write(task.where, journal)
    except (Trouble, OSError) as error:  # the change itself has been made
        task.log.line(f"not looked through after the exchange: {error}")
        return journal, ()
    for path in missed:
        task.log.line(f"written during the exchange, in the state that was left only: {path}")
    return journal, missed


def _begin(change: Change, where: Places, lock: int, progress: Progress, *, new: bool = False) -> build.Task:
    """Name the clone in the journal before it exists."""
    journal = read(where)
    number = where.free_slot(journal.slots())
    generation = journal.last + 1
    incoming = Generation(
        number=generation,
        made=time.time(),
        summary=build.summary(change, new=new),
        mark=new_mark(),
        parent=journal.current.number if where.real.is_dir() else None,
        slot=number,
    )
    journal = replace(journal, pending=Pending(action="building", slot=number, incoming=incoming), last=generation)
    write(where, journal)
    log = Log(where.control / f"change-{generation}.log")
    found = sources.read(where.real, variables=os.environ, folder=Path.cwd())
    return build.Task(
        change=change,
        where=where,
        slot=where.slot(number),
        number=number,
        journal=journal,
        incoming=incoming,
        installer=choose(change.installer, found, change.wheels, lock, log, progress),
        log=log,
        progress=progress,
    )


def _check(task: build.Task, verify: Verify) -> None:
    set_mark(task.slot, task.incoming.mark)
    task.progress("checking the new state")
    begin_flush(task.slot)
    reason = verify(task.slot)
    if reason is not None:
        raise Trouble(
            f"the new state is not healthy, so nothing was changed: {reason}",
            file=task.where.environment,
            remedy="Choose another stack or target.",
            exit_code=3,
        )


@contextlib.contextmanager
def _all_or_nothing(task: build.Task) -> Iterator[None]:
    """Clear the clone away when anything stops the change; an OSError of ours becomes `Trouble`.

    Where even clearing away fails, the next command does it: the first error is the one to tell.
    """
    try:
        yield
    except BaseException as error:
        with hold_signals():
            try:
                recover_locked(task.where)
            except (Trouble, OSError) as second:
                task.log.line(f"not cleared away: {second}")
        task.log.line(f"not changed: {type(error).__name__}: {error}")
        if not is_anything(task.where.real) and os.fspath(task.log.path) not in getattr(error, "remedy", ""):
            task.log.path.unlink(missing_ok=True)  # nothing was made, and nobody is sent to it
        if not isinstance(error, OSError):
            raise
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise Trouble(
            f"{error.strerror or error}; the environment was not changed",
            file=error.filename or task.slot,
            remedy="Free some space." if full else "Check that path and its permissions.",
            exit_code=3,
        ) from error
