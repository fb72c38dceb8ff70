"""Is a lockfile sound: well formed, harmless to install, closed, and complete for every interpreter it serves?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.facts.model import Unavailable
from envdoctor.locks import stack
from envdoctor.locks.platforms import DESKTOPS, GLIBC_OLDEST, MACHINES, interpreter, place, served_by
from envdoctor.locks.stack import Stack
from envdoctor.values.document import line_of, read_toml

MOST = 25  # flaws reported; a file with more is not one that somebody will mend line by line

# Keys of PEP 751 (packaging.python.org/specifications/pylock-toml).
DOCUMENT = frozenset(
    "lock-version environments requires-python extras dependency-groups default-groups created-by packages tool".split()
)
PACKAGE = frozenset(
    "name version marker requires-python dependencies vcs directory archive index sdist wheels "
    "attestation-identities tool".split()
)
WHEEL = frozenset("name upload-time url path size hashes".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """One thing wrong with a lock. One that is not fatal is what installers pass over; they should still be told."""

    where: str
    problem: str
    fatal: bool = True


def lint(path: Path) -> tuple[Flaw, ...]:
    """The flaws of ``pylock.<name>.toml``, fatal ones first; never raises for what the file contains."""
    try:
        data = read_toml(path)
        found = stack.load(path)
    except Trouble as error:
        return (Flaw(where=error.where, problem=error.problem),)
    flaws = [*islice(_flaws(data, found), MOST)]
    located = [Flaw(where=line_of(path, flaw.where), problem=flaw.problem, fatal=flaw.fatal) for flaw in flaws]
    return tuple(sorted(located, key=lambda flaw: not flaw.fatal))


def _flaws(data: Mapping[str, Any], found: Stack) -> Iterator[Flaw]:
    yield from _unserved_places(found)
    names = {package["name"] for package in data["packages"]}
    for index, package in enumerate(data["packages"]):
        yield from _of_package(package, f"packages[{index}]", names)
    if data["lock-version"] != "1.0":
        problem = f"lock-version {data['lock-version']}: only what version 1.0 says is read"
        yield Flaw(where="lock-version", problem=problem, fatal=False)
    yield from _unknown_keys(data, DOCUMENT, "")


def _of_package(package: Mapping[str, Any], where: str, names: set[str]) -> Iterator[Flaw]:
    for number, wheel in enumerate(package["wheels"]):
        place = f"{where}.wheels[{number}]"
        if "size" not in wheel:
            yield Flaw(where=place, problem=f"{package['name']}: a wheel without size; a download has no bound")
        yield from _unknown_keys(wheel, WHEEL, place)
    # PEP 751 makes dependencies informational: an entry without them is no flaw, one that leads nowhere is.
    for dependency in package.get("dependencies", ()):
        name = dependency.get("name")
        if not isinstance(name, str) or name not in names:
            yield Flaw(
                where=f"{where}.dependencies", problem=f"{package['name']} needs {name}, which is not in the lock"
            )
    yield from _unknown_keys(package, PACKAGE, where)


def _unknown_keys(table: Mapping[str, Any], keys: frozenset[str], where: str) -> Iterator[Flaw]:
    for key in sorted(set(table) - keys):
        place = f"{where}.{key}".lstrip(".")
        yield Flaw(where=place, problem=f"PEP 751 has no key {key!r}; installers ignore it", fatal=False)


def _unserved_places(found: Stack) -> Iterator[Flaw]:
    lock = found.lock
    # Macs and Windows only where the lock names them: what says nothing of systems is for Linux.
    named = any(system in str(marker) for marker in lock.environments or () for system in ("sys_", "platform_system"))
    served = served_by(lock.requires_python, lock.environments, (*MACHINES, *(DESKTOPS if named else ())))
    if not served:
        problem = "it serves none of CPython 3.10 to 3.14 on Linux (x86-64, aarch64), macOS (arm64) or Windows (x86-64)"
        yield Flaw(where="environments", problem=problem)
    # A lock that does not say whom it serves must serve somebody; one that says so must keep its word.
    stated = lock.environments is not None or lock.requires_python is not None
    failures = []
    for one in served:
        python, machine = place(one)
        here = interpreter(python, machine, libc=GLIBC_OLDEST)
        for extras in ((), *((extra,) for extra in lock.extras or ())):
            chosen = stack.select(found, here, extras)
            if isinstance(chosen, Unavailable):
                where = f"Python {python} on {machine}" + "".join(f" with {extra}" for extra in extras)
                failures.append(Flaw(where="packages", problem=f"{where}: {chosen.reason}"))
                break
    if stated or len(failures) == len(served):
        yield from failures
