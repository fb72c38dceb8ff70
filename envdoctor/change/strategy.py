"""How an environment can be changed, found out by trying: on temporary directories beside it, under the same rules."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from envdoctor.change import space
from envdoctor.change.clone import reflink
from envdoctor.change.distributions import scan
from envdoctor.change.exchange import UNSUPPORTED, exchange
from envdoctor.change.layout import Layout, ask
from envdoctor.change.places import KEPT_PREFIX, Places, places
from envdoctor.change.trials import trial_folder
from envdoctor.change.values import Change, Kind, Strategy
from envdoctor.errors import Trouble
from envdoctor.sources import sources
from envdoctor.values import shell

# What venv, virtualenv, uv and conda put into the top of an environment.
_OWN_ENTRIES = frozenset(
    "bin lib lib64 include share etc man doc sbin libexec var ssl conda-meta compiler_compat pyvenv.cfg .gitignore"
    " CACHEDIR.TAG .lock .envdoctor pip.conf pip-selfcheck.json .nonadmin condabin shell x86_64-conda-linux-gnu"
    " aarch64-conda-linux-gnu x86_64-conda_cos6-linux-gnu x86_64-conda_cos7-linux-gnu licenses LICENSE.txt".split()
)
_PLENTY = 8 * 2**30  # bytes; two million folders' worth


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What the file system around an environment allows. ``refusal`` is why its directory cannot be renamed, or ""."""

    exchange: bool
    links: bool
    refusal: str = ""
    reflinks: bool = False  # copies share their blocks until one of them is written to


def preview(change: Change) -> Strategy:
    """The strategy that `apply` would use now, and why. Writes nothing but a temporary directory beside it."""
    where = places(change.environment)
    return outline(change, where) or decide(change, where, ask(where.environment), count=False)


def outline(change: Change, where: Places) -> Strategy | None:
    """The strategy where it can be told without starting the environment's Python; None for all that exist."""
    if sys.platform != "linux":
        return Strategy(
            kind="refuse",
            reason=f"environments are changed on Linux only, this is {sys.platform}",
            environment=where.environment,
            remedy="Install the lock with uv or pip into a new environment.",
        )
    if not os.path.lexists(where.real) or (where.real.is_dir() and not os.listdir(where.real)):
        return _new(change, where)
    if not where.real.is_dir() or not any((where.real / "bin" / name).exists() for name in ("python", "python3")):
        return Strategy(
            kind="refuse",
            reason="it is not a Python environment: there is no bin/python in it",
            environment=where.environment,
            remedy="Name a virtual environment, or a path that does not exist yet: --env PATH",
        )
    return None


def decide(change: Change, where: Places, layout: Layout, *, count: bool = True) -> Strategy:
    """The strategy for an environment that exists.

    ``count`` False does not count the folders of a clone made of hard links where there is room for any number.
    """
    if layout.untouchable:
        return _beside(layout, where)
    foreign = foreign_entries(where, layout)
    try:
        trial = try_out(where)
    except OSError as error:
        return Strategy(
            kind="refuse",
            reason=f"{where.parent} cannot be written ({error.strerror}), and the clone has to lie there",
            environment=where.environment,
            remedy="Make that folder writable, or make a new environment: envdoctor fix --env NEWPATH",
        )
    kind, reason = _way(trial, foreign)
    if kind == "file-by-file" and not os.access(where.real, os.W_OK | os.X_OK):
        return Strategy(
            kind="refuse",
            reason="its folder cannot be written",
            environment=where.environment,
            remedy="Make it writable, or make a new environment: envdoctor fix --env NEWPATH",
        )
    hard = trial.links and not trial.reflinks
    strategy = Strategy(kind=kind, reason=reason, environment=where.environment, copies=not hard)
    if (trial.links or trial.reflinks) and not count and space.free(where.parent)[0] > _PLENTY:
        return _with_room(strategy, change, where, trial, (1, 0, 0))
    return _with_room(strategy, change, where, trial, space.tree(where.real, foreign))


def _way(trial: Trial, foreign: Sequence[str]) -> tuple[Kind, str]:
    if foreign:
        shown = ", ".join(foreign[:3]) + (" ..." if len(foreign) > 3 else "")
        return "file-by-file", f"it also holds what no package owns ({shown}), which must not be swapped along"
    if trial.refusal:
        return "file-by-file", trial.refusal
    if trial.exchange:
        links = "made of hard links" if trial.links else "made of copies (no hard links here)"
        links = "made of copies that share their blocks" if trial.reflinks else links
        return "exchange", f"a clone beside it, {links}, is exchanged with it in one step"
    return "journaled-swap", "this file system cannot exchange two directories; three renames under a journal do it"


def _new(change: Change, where: Places) -> Strategy:
    strategy = Strategy(kind="create", reason="it does not exist yet", environment=where.environment)
    if not os.access(_nearest_existing(where.parent), os.W_OK | os.X_OK):
        return replace(
            strategy,
            kind="refuse",
            reason=f"{_nearest_existing(where.parent)} cannot be written",
            remedy="Make that folder writable, or name another path.",
        )
    trial = Trial(exchange=True, links=True)
    return _with_room(strategy, change, where, trial, (1, 0, 0))


def _nearest_existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _beside(layout: Layout, where: Places) -> Strategy:
    manager = "the system's package manager" if layout.externally_managed else "everything else that runs on it"
    new = Path.cwd() / ".venv"
    if os.path.lexists(new):
        return Strategy(
            kind="refuse",
            reason=f"this Python also belongs to {manager}, and {new} exists already",
            environment=where.environment,
            remedy=f"Use that environment, or name another: envdoctor fix --env {shell.word(str(new))}",
        )
    return Strategy(
        kind="beside",
        reason=f"this Python also belongs to {manager}; a new environment is made and this one is left alone",
        environment=new,
        activate=f". {shell.word(os.fspath(new / 'bin' / 'activate'))}",
    )


def _with_room(
    strategy: Strategy, change: Change, where: Places, trial: Trial, cloned: tuple[int, int, int]
) -> Strategy:
    wanted = change.wanted if strategy.kind == "create" else change.install
    found = sources.read(where.real, variables=os.environ, folder=Path.cwd())
    folders = [*([os.fspath(change.wheels)] if change.wheels else []), *found.find_links]
    shared = change.installer == "uv" and space.same_file_system(space.cache_folder(found.uv), where.parent)
    needed = space.need(wanted, folders, cloned=cloned, links=trial.links or trial.reflinks, cache_shared=shared)
    free, inodes = space.free(_nearest_existing(where.parent))
    strategy = replace(
        strategy, bytes_needed=needed.expected, bytes_free=free, inodes_needed=needed.inodes, inodes_free=inodes
    )
    if needed.certain > free or (inodes is not None and needed.inodes > inodes):
        short = f"{_megabytes(needed.certain)} are needed, {_megabytes(free)} are free"
        if needed.certain <= free:
            short = f"{needed.inodes} inodes are needed, {inodes} are free"
        return replace(
            strategy, kind="refuse", reason=f"the disk is too full: {short}", remedy=f"Free space in {where.parent}."
        )
    return strategy


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB" if count >= 1e7 else f"{count / 1e3:,.0f} kB"


def foreign_entries(where: Places, layout: Layout) -> tuple[str, ...]:
    """Entries in the top of an environment that neither its makers nor an installed package put there.

    A project whose folder is itself the environment has its sources there, a conda base its other environments: they
    must neither be cloned nor be carried back by an undo.
    """
    unknown = {name for name in os.listdir(where.real) if name not in _OWN_ENTRIES}
    unknown = {name for name in unknown if not name.startswith(KEPT_PREFIX)}
    if layout.kind == "conda":
        return tuple(sorted(unknown & {"envs", "pkgs", ".git"}))
    if unknown:
        roots = {os.path.realpath(library): library for library in layout.libraries}
        prefix = f"{layout.prefix}/"
        for one in scan(roots.values()):
            for file in one.files() or ():
                if file.startswith(prefix):
                    unknown.discard(file.removeprefix(prefix).partition("/")[0])
    return tuple(sorted(unknown))


def try_out(where: Places) -> Trial:
    """Try exchange, rename and hard link. Raises OSError when nothing can be made beside the environment."""
    with trial_folder(where) as probe:
        for name in ("one", "other", "full/inner"):
            (probe / name).mkdir(parents=True)
        number = _refusal(where.real, probe / "full")
        return Trial(
            exchange=_can_exchange(probe / "one", probe / "other"),
            # Linking a file of a lower layer first copies it up, for good: then rather a copy that is deleted again.
            links=number != errno.EXDEV
            and _works_here(
                where.real, lambda file: os.link(file, probe / "link", follow_symlinks=False), otherwise=True
            ),
            reflinks=_works_here(where.real, lambda file: reflink(file, probe / "copy"), otherwise=False),
            refusal=_REFUSALS.get(number, f"its folder cannot be renamed ({os.strerror(number)})") if number else "",
        )


def _can_exchange(one: Path, other: Path) -> bool:
    try:
        exchange(one, other)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        return False
    return True


def _works_here(environment: Path, act: Callable[[str], None], *, otherwise: bool) -> bool:
    """Try it with a file that every environment has; the folder of packages would be too deep to search."""
    for folder in (environment, environment / "bin", environment / "conda-meta"):
        for entry in os.scandir(folder) if folder.is_dir() else ():
            if entry.is_file(follow_symlinks=False):
                try:
                    act(entry.path)
                except OSError:
                    return False
                return True
    return otherwise


_REFUSALS = {
    errno.EXDEV: "it lies in a lower layer of this container's file system, where folders cannot be renamed",
    errno.EBUSY: "it is a mount point, which cannot be renamed",
}


def _refusal(environment: Path, full: Path) -> int:
    """The error number with which the environment's directory refuses to be renamed; 0 when it would not.

    Renaming it onto a directory that is not empty is always refused (rename(2)); what counts is the reason given.
    """
    try:
        environment.rename(full)
    except OSError as error:
        return 0 if error.errno in (errno.ENOTEMPTY, errno.EEXIST) else error.errno or errno.EIO
    full.rename(environment)
    raise Trouble("lies on a file system that breaks rename(2)", file=environment, exit_code=3)
