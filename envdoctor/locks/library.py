"""The lockfiles as values: every bundled target, and the stacks that a target names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from envdoctor.bundle import lockfiles
from envdoctor.errors import Trouble
from envdoctor.facts.model import Interpreter
from envdoctor.locks import own, stack, target
from envdoctor.locks.nearest import plain
from envdoctor.locks.stack import Stack
from envdoctor.locks.target import Target
from envdoctor.values import shell

UNLISTED = "unlisted"
"""Name of the target made up for a GPU that no target file names; asking for it is asking for the GPU found."""
FOUND = ("auto", UNLISTED)
"""Names that ask for the GPU that is found."""


class Targets(Mapping[str, Target]):
    """The bundled targets by name, each read when it is first asked for: reading all takes tens of milliseconds.

    ``own`` targets are found by their names too, before the bundled ones, but are not iterated over: what a GPU is
    matched with are the bundled ones, until somebody names another.
    """

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        self._paths = {path.stem: path for path in sorted((lockfiles() / "targets").glob("*.toml"))}
        self._read: dict[str, Target] = {}
        self.own = dict(own or {})  # name -> path or address

    def __getitem__(self, name: str) -> Target:
        if name not in self._read:
            place = self.own.get(name)
            if place is None:
                self._read[name] = target.load(self._paths[name])
            else:
                self._read[name], _ = named_target(place, self)
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def load_targets() -> Targets:
    """Every bundled target by name, and those of one's own that the working directory knows."""
    return Targets(own.places(Path.cwd()))


def targets_with(name: str) -> Targets:
    """Every target, the one asked for surely among them: a typo is told before anybody waits for torch."""
    targets = load_targets()
    if name not in (*FOUND, "none"):
        named_target(name, targets)
    return targets


def named_target(name: str, targets: Mapping[str, Target]) -> tuple[Target, str]:
    """The target of this name, or of the file at this path. Raises `Trouble` with the nearest names."""
    if "://" in name:
        from envdoctor.locks import shared  # with it come http and git

        return target.load(shared.fetch_target(name)), "shared, and by its hash the one that was asked for"
    if name.endswith(".toml") or os.sep in name:
        return target.load(Path(name)), f"the target file {name}"
    wanted, mine = plain(name), targets.own if isinstance(targets, Targets) else {}
    if name in targets:  # and no other needs to be read
        found = targets[name]
        return found, f"asked for by name: {mine[name]}" if name in mine else "asked for by name"
    for key, one in targets.items():
        if wanted in (plain(key), *map(plain, one.gpu_names)):
            return one, "asked for by name"
    known_names = sorted({*targets, *mine})
    import difflib  # for a mistake only: it takes a millisecond

    near = difflib.get_close_matches(wanted, known_names, n=3, cutoff=0.4)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    raise Trouble(
        f"there is no target {name!r}",
        remedy=f"{hint}Known: {', '.join(known_names)}; or give the path of a target file.",
    )


def load_stacks(
    chosen: Target, override: str | None = None, interpreter: Interpreter | None = None
) -> Mapping[str, Stack]:
    """The stacks a target names (or the overriding one), from beside the target file or from the bundle.

    A GPU that no target names has the choice of all bundled ones. With an ``interpreter`` those of the bundle hold what
    is of use to it, which is read sooner.
    """
    found = {}
    bundled = () if chosen.is_cpu else tuple(sorted(p.name.split(".")[1] for p in lockfiles().glob("pylock.*.toml")))
    for name in (override,) if override else chosen.stacks or bundled:
        path = stack_path(name, chosen)
        if path is not None:
            found[path.name.split(".")[1]] = sound(path, interpreter)
        elif override:
            known = ", ".join(sorted(p.name.split(".")[1] for p in lockfiles().glob("pylock.*.toml")))
            raise Trouble(f"there is no stack {name!r}", where="--stack", remedy=f"Choose one of: {known}")
        else:
            raise Trouble(
                f"its stack {name!r} has no file pylock.{name}.toml",
                file=chosen.path,
                where="stacks",
                remedy=f"Write it: envdoctor lock {shell.word(name)}",
            )
    return found


def sound(path: Path, interpreter: Interpreter | None = None) -> Stack:
    """The stack of a lockfile that `lock --lint` finds nothing fatal in. Raises `Trouble` with its first flaws.

    The bundled ones are linted before they are published; linting takes as long as reading.
    """
    if path.parent == lockfiles():
        return stack.load(path) if interpreter is None else stack.load_for(path, interpreter)
    loaded = stack.load(path)
    from envdoctor.locks.lint import lint

    flaws = [flaw for flaw in lint(path) if flaw.fatal]
    if flaws:
        more = f" (and {len(flaws) - 1} more)" if len(flaws) > 1 else ""
        words = f"{shell.word(loaded.name)} --lint --folder {shell.word(str(path.parent))}"
        raise Trouble(
            f"the lock is not sound: {flaws[0].problem}{more}",
            file=path,
            where=flaws[0].where,
            remedy=f"See all of it: envdoctor lock {words}",
        )
    return loaded


def stack_path(name: str, chosen: Target) -> Path | None:
    """The lockfile of a stack: a path, or beside the target's file, or bundled; None where there is none."""
    if name.endswith(".toml"):
        path = Path(name)
        return path if path.is_file() else None
    folders = [lockfiles()]
    if chosen.path is not None:
        folders = [chosen.path.parent, chosen.path.parent.parent, *folders]
    for folder in folders:
        path = folder / f"pylock.{name}.toml"
        if path.is_file():
            return path
    return None
