"""Is a lockfile sound: well formed, harmless to install, closed, and complete for every interpreter it serves?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.pylock import Pylock

from envdoctor import stack
from envdoctor.document import line_of, read_toml
from envdoctor.errors import Trouble
from envdoctor.facts import Unavailable
from envdoctor.locking.platforms import GLIBC_OLDEST, interpreter, place, served_by
from envdoctor.stack import Stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """One thing wrong with a lock. A flaw that is not fatal is something an installer may pass over, and says so."""

    where: str
    problem: str
    fatal: bool = True


def lint(path: Path) -> tuple[Flaw, ...]:
    """Every flaw of ``pylock.<name>.toml``; never raises for what the file contains."""
    try:
        data = read_toml(path)
        found = stack.load(path)
    except Trouble as error:
        return (Flaw(where=error.where, problem=error.problem),)
    return (*_unknown_keys(path, data), *_open_ends(path, data), *_unserved(found))


KNOWN = {
    "": "lock-version environments requires-python extras dependency-groups default-groups created-by packages tool",
    "packages": "name version marker requires-python dependencies vcs directory archive index sdist wheels "
    "attestation-identities tool",
    "wheels": "name upload-time url path size hashes",
}


def _unknown_keys(path: Path, data: dict[str, Any]) -> Iterator[Flaw]:
    def strange(table: dict[str, Any], kind: str, where: str) -> Iterator[Flaw]:
        for key in table:
            if key not in KNOWN[kind].split():
                place = line_of(path, f"{where}.{key}".lstrip("."))
                yield Flaw(where=place, problem=f"key {key!r} is not in PEP 751 and is ignored", fatal=False)

    yield from strange(data, "", "")
    if data.get("lock-version") != "1.0":
        problem = f"lock-version {data.get('lock-version')} is newer than what is read here"
        yield Flaw(where=line_of(path, "lock-version"), problem=problem, fatal=False)
    for index, package in enumerate(data.get("packages", ())):
        yield from strange(package, "packages", f"packages[{index}]")
        for number, wheel in enumerate(package.get("wheels", ())):
            yield from strange(wheel, "wheels", f"packages[{index}].wheels[{number}]")


def _open_ends(path: Path, data: dict[str, Any]) -> Iterator[Flaw]:
    """Dependencies that no entry of the lock answers. PEP 751 makes them informational, so their absence is no flaw."""
    names = {package["name"] for package in data.get("packages", ())}
    for index, package in enumerate(data.get("packages", ())):
        for dependency in package.get("dependencies", ()):
            name = dependency.get("name")
            if name not in names:
                where = line_of(path, f"packages[{index}].dependencies")
                yield Flaw(where=where, problem=f"{package['name']} depends on {name}, which is not in the lock")


def _unserved(found: Stack) -> Iterator[Flaw]:
    lock: Pylock = found.lock
    served = served_by(lock.requires_python, lock.environments)
    if not served:
        yield Flaw(where="environments", problem="it serves none of CPython 3.10 to 3.14 on Linux x86-64 or aarch64")
    for one in served:
        python, machine = place(one)
        chosen = stack.select(found, interpreter(python, machine, libc=GLIBC_OLDEST))
        if isinstance(chosen, Unavailable):
            # Without a statement of whom it serves, a lock need not serve everybody.
            stated = lock.environments is not None or lock.requires_python is not None
            yield Flaw(where="packages", problem=f"Python {python} on {machine}: {chosen.reason}", fatal=stated)
