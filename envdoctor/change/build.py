"""Building the new state in the slot: clone what stays, install, hook, correct the paths, compare with the pins."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from envdoctor.change import genuine, paths
from envdoctor.change.clone import Cloned, clone
from envdoctor.change.distributions import Going, Installed, files_of, scan
from envdoctor.change.installers import Installer, install, local_folders, new_environment
from envdoctor.change.journal import Generation, Journal
from envdoctor.change.layout import Layout, ask
from envdoctor.change.log import Log
from envdoctor.change.places import KEPT_PREFIX, Places
from envdoctor.change.tree import hide, inodes
from envdoctor.change.values import Change
from envdoctor.errors import Trouble
from envdoctor.launch import hook
from envdoctor.locks.stack import Locked

# What `strict` leaves, although no pin asks for it: the environment's own installer.
_INSTALLERS = frozenset({"pip"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Everything that one change works with."""

    change: Change
    where: Places
    slot: Path
    number: int  # of the slot
    journal: Journal
    incoming: Generation
    installer: Installer
    log: Log
    progress: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltClone:
    """A finished clone. ``kept`` are the packages that no pin asked for, "name version" each."""

    task: Task  # as it was confirmed
    kept: tuple[str, ...]
    done: Cloned
    going: Going
    left_out: frozenset[str]  # entries of the environment that are not its own
    inside: Layout

    def require_complete(self) -> None:
        """Raises `Trouble` where the installer reported success, and what it was asked for is not there."""
        _require_complete(self.task, self.task.change.install, self.inside)


def changed_clone(
    task: Task, layout: Layout, foreign: frozenset[str], *, copy: bool, confirm: Callable[[], Change] | None = None
) -> BuiltClone:
    """Build the changed environment in the slot; ``copy`` makes no hard links, ``foreign`` entries stay behind.

    ``confirm`` is asked for the whole change when its packages are there.
    """
    change = task.change
    task.progress(f"cloning {task.where.environment}")
    installed = scan(layout.libraries)
    names = {pin.name for pin in change.install}
    if change.strict:
        names |= _names_not_listed(installed, change)
    replaced = files_of(names, installed, layout.libraries, layout.prefix)
    done = clone(
        task.where.real,
        task.slot,
        leave_out=lambda path: path in replaced or path in foreign or path.startswith(KEPT_PREFIX),
        links=not copy,
        known_as=task.where.environment,
    )
    hide(task.slot)
    task.log.line(f"cloned: {done.directories} folders, {done.linked} links, {len(done.copies)} copies")
    for path in done.left_out:
        task.log.line(f"neither file, folder nor link, left out: {path}")
    for folder in replaced.emptied():
        with contextlib.suppress(OSError):  # something else is in it
            (task.slot / folder).rmdir()
    inside, known = _look_inside(task.slot)
    task = _install(task, change.install, inside, known, confirm)
    after = scan(inside.libraries)
    asked = {pin.name for pin in change.wanted} | {pin.name for pin in change.install}
    kept = tuple(f"{one.name} {one.version}" for one in after if one.name not in asked)
    return BuiltClone(task=task, kept=kept, done=done, going=replaced, left_out=foreign, inside=inside)


def new_clone(task: Task) -> None:
    """Build a new environment of all wanted pins in the slot."""
    task.progress(f"making {task.where.environment}")
    new_environment(task.installer, task.slot, task.change.python, task.where.real.name)
    inside, known = _look_inside(task.slot)
    _install(task, task.change.wanted, inside, known)
    _require_complete(task, task.change.wanted, inside)


def _look_inside(slot: Path) -> tuple[Layout, frozenset[int]]:
    """Where the clone's Python keeps things, and what lies in it before anything is installed."""
    known: list[frozenset[int]] = []
    inside = ask(slot, meanwhile=lambda: known.append(inodes(slot)))
    return inside, known[0]


def _install(
    task: Task,
    pins: Sequence[Locked],
    inside: Layout,
    known: frozenset[int],
    confirm: Callable[[], Change] | None = None,
) -> Task:
    """Install ``pins`` where the inodes ``known`` lie, and nothing else yet."""
    if pins:
        task.progress(f"installing {len(pins)} packages with {task.installer.name}")
    install(task.installer, pins, inside.python, task.where.control, untouched=lambda: _only_locked(task.slot, known))
    _require_genuine(task, pins, inside, known)
    if (why := genuine.foreign_path(pins, inside)) is not None:
        raise Trouble(
            f"{why}; nothing was changed",
            file=task.where.environment,
            remedy="Do not install that wheel; ask whoever wrote the lock.",
            exit_code=3,
        )
    if confirm is not None:
        change = confirm()
        task = replace(task, change=change, incoming=replace(task.incoming, summary=summary(change)))
    _write_hook(task, inside)
    paths.correct(task.slot, task.where.environment, _libraries(inside))
    return task


def _only_locked(slot: Path, known: frozenset[int]) -> bool:
    """Whether everything in the clone is as it was, but for uv's own lock."""
    try:
        lock = {(slot / ".lock").lstat().st_ino}
    except FileNotFoundError:
        lock = set()
    return inodes(slot) ^ known <= lock


def _libraries(inside: Layout) -> tuple[Path, ...]:
    return (inside.purelib, *(path for path in inside.libraries if path != inside.purelib))


def _require_complete(task: Task, pins: Sequence[Locked], inside: Layout) -> None:
    for problem in differences(pins, _libraries(inside)):
        raise Trouble(
            f"the installer reported success, but {problem}; nothing was changed",
            file=task.where.environment,
            remedy="Clear its cache (uv cache clean) and try again.",
            exit_code=3,
        )


def _require_genuine(task: Task, pins: Sequence[Locked], inside: Layout, known: frozenset[int]) -> None:
    """Install past uv's cache what it does not hold as it came. pip unpacks each time what it has just hashed."""
    if task.installer.name != "uv" or not pins:
        return
    altered = genuine.altered_packages(pins, inside.libraries, local_folders(task.installer))
    planted = genuine.strangers(pins, inside, known)
    for name, why in altered.items():
        task.log.line(f"from the cache of uv: {name}: {why}")
    for path in planted:
        task.log.line(f"from the cache of uv, and in no RECORD: {path}")
        path.unlink()
    if not altered and not planted:
        return
    names = ", ".join(altered) or ", ".join(sorted({path.name for path in planted}))
    task.progress(f"uv's cache is not as it came ({names}): installing again past it; see uv cache clean")
    again = [pin for pin in pins if pin.name in altered] or pins
    try:
        install(task.installer, again, inside.python, task.where.control, past_the_cache=True)
    except Trouble as trouble:
        raise Trouble(
            f"uv's cache is damaged or was tampered with ({names}), and could not be passed by: {trouble.problem}",
            file=trouble.file or task.where.environment,
            remedy="Clear it (uv cache clean) and run it again with a network.",
            exit_code=3,
        ) from trouble


def _write_hook(task: Task, inside: Layout) -> None:
    earlier = hook.values(inside.purelib)
    change = task.change
    if change.flags or change.variables or any(earlier):
        files = hook.render(change.flags, change.variables, earlier=earlier, present=os.environ)
        hook.write(inside.purelib, files)
        final = task.where.environment / inside.purelib.relative_to(inside.prefix)
        if not hook.precompile(inside.python, inside.purelib, final):
            task.log.line("the startup hook could not be compiled; it will be at the first start")


def _names_not_listed(installed: Sequence[Installed], change: Change) -> set[str]:
    asked = {pin.name for pin in change.wanted} | _INSTALLERS
    unasked = {one.name for one in installed} - asked
    if os.path.realpath(sys.prefix) == os.path.realpath(change.environment):
        raise Trouble(
            "--exact would remove envdoctor itself, which runs from this environment",
            file=change.environment,
            remedy="Install envdoctor elsewhere, for example: uv tool install gpu-envdoctor",
        )
    return unasked


def differences(pins: Sequence[Locked], libraries: Sequence[Path]) -> list[str]:
    """How the installed packages differ from their pins; files by presence and size."""
    found: dict[str, list[Installed]] = {}
    for one in scan(libraries):
        found.setdefault(one.name, []).append(one)
    problems = []
    for pin in pins:
        match found.get(pin.name, []):
            case []:
                problems.append(f"{pin.name} {pin.version} is missing")
            case [one]:
                if not _same_version(one.version, pin.version):
                    problems.append(f"{pin.name} is {one.version}, not {pin.version}")
                else:
                    problems += _incomplete(one)
            case several:
                problems.append(f"{pin.name} is installed {len(several)} times")
    return problems


def _same_version(one: str, other: str) -> bool:
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return one == other


def _incomplete(one: Installed) -> list[str]:
    rows, library = one.record(), one.library
    problems = [] if rows else [f"{one.name} {one.version} has no RECORD"]
    for row in rows:
        if len(row) < 3 or not row[2]:
            continue
        try:
            size = os.stat(f"{library}/{row[0]}").st_size
        except OSError as error:
            problems.append(f"{row[0]} of {one.name} {one.version}: {error.strerror}")
            continue
        if str(size) != row[2]:
            problems.append(f"{row[0]} of {one.name} {one.version} has {size} bytes, not {row[2]}")
    return problems


def summary(change: Change, *, new: bool = False) -> str:
    """The change in one line, for the history; ``new``: it makes the environment, of all pins."""
    parts = []
    if change.install and not new:
        shown = ", ".join(f"{pin.name} {pin.version}" for pin in change.install[:3])
        parts.append(shown + (f" and {len(change.install) - 3} more" if len(change.install) > 3 else ""))
    elif new:
        parts.append(f"made with {len(change.wanted)} packages")
    parts += [f"{name}={value}" for name, value in sorted(change.flags.items())]
    parts += [name if value is None else f"{name}={value}" for name, value in sorted(change.variables.items())]
    return "; ".join(parts) or "no package"
