"""The lockfiles as values: every bundled target, and the stacks that a target names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from envdoctor import stack, target
from envdoctor.bundle import lockfiles
from envdoctor.errors import Trouble
from envdoctor.stack import Stack
from envdoctor.target import Target


class Targets(Mapping[str, Target]):
    """The bundled targets by name, each read when it is first asked for: reading all takes tens of milliseconds."""

    def __init__(self) -> None:
        self._paths = {path.stem: path for path in sorted((lockfiles() / "targets").glob("*.toml"))}
        self._read: dict[str, Target] = {}

    def __getitem__(self, name: str) -> Target:
        if name not in self._read:
            self._read[name] = target.load(self._paths[name])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def load_targets() -> Mapping[str, Target]:
    """Every bundled target by name."""
    return Targets()


def load_stacks(chosen: Target, override: str | None = None) -> Mapping[str, Stack]:
    """The stacks a target names (or the overriding one), from beside the target file or from the bundle.

    A GPU that no target names has the choice of all bundled ones.
    """
    found = {}
    bundled = () if chosen.is_cpu else tuple(sorted(p.name.split(".")[1] for p in lockfiles().glob("pylock.*.toml")))
    for name in (override,) if override else chosen.stacks or bundled:
        path = _stack_path(name, chosen)
        if path is not None:
            found[path.name.split(".")[1]] = stack.load(path)
        elif override:
            known = ", ".join(sorted(p.name.split(".")[1] for p in lockfiles().glob("pylock.*.toml")))
            raise Trouble(f"there is no stack {name!r}", where="--stack", remedy=f"Choose one of: {known}")
        else:
            raise Trouble(
                f"its stack {name!r} has no file pylock.{name}.toml",
                file=chosen.path,
                where="stacks",
                remedy=f"Write it: envdoctor lock {name}",
            )
    return found


def _stack_path(name: str, chosen: Target) -> Path | None:
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
