"""Is a lock closed: does it hold everything that its own packages require, wherever they are required?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from email.parser import HeaderParser

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from envdoctor.facts.model import Interpreter
from envdoctor.locks.platforms import holds, place
from envdoctor.locks.writing.trim import Resolved


def requires_in(metadata: str) -> tuple[str, ...]:
    """The Requires-Dist lines of a METADATA."""
    return tuple(HeaderParser().parsestr(metadata).get_all("Requires-Dist") or ())


def connect(
    packages: Sequence[Resolved], roots: Sequence[str], served: Sequence[Interpreter]
) -> tuple[list[Resolved], list[str]]:
    """The packages with their ``dependencies``, and what is missing or contradicted, in words.

    ``roots`` are the requirements that were locked, with their extras: extras travel along the edges from there, as
    pip's resolver lets them (``cuda-toolkit[cublas]`` requires what plain ``cuda-toolkit`` does not). Without roots
    every package is one.
    """
    edges: dict[tuple[str, str], set[str]] = {}
    problems: dict[str, None] = {}
    for one in served:
        active = {package.name: package for package in packages if place(one) in package.places}
        _walk(active, roots or active, one, edges, problems)
    connected = [
        replace(package, dependencies=tuple(sorted(edges.get((package.name, package.version), ()))))
        for package in packages
    ]
    return connected, list(problems)


def optional(
    packages: Sequence[Resolved], roots: Sequence[str], extras: Mapping[str, str], served: Sequence[Interpreter]
) -> list[Resolved]:
    """The packages, those marked with ``extras`` (requirement by name) that ``roots`` alone would not bring."""

    def reached(*wishes: str) -> set[str]:
        found: set[str] = set()
        for one in served:
            active = {package.name: package for package in packages if place(one) in package.places}
            found |= _walk(active, wishes, one, {}, {})
        return found

    always = reached(*roots)
    brought = {extra: reached(wish) - always for extra, wish in extras.items()}
    return [
        replace(package, extras=tuple(sorted(extra for extra, names in brought.items() if package.name in names)))
        for package in packages
    ]


def _walk(
    active: Mapping[str, Resolved],
    roots: Iterable[str],
    one: Interpreter,
    edges: dict[tuple[str, str], set[str]],
    problems: dict[str, None],
) -> set[str]:
    """The names that were reached; edges and problems are added to."""
    python, machine = place(one)
    todo: list[tuple[Resolved | None, Requirement]] = [
        (None, wish) for wish in parse(roots) if _is_needed(wish, one, ("",))
    ]
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        origin, wish = todo.pop()
        name = str(canonicalize_name(wish.name))
        who = f"{origin.name} needs" if origin else "the requirements need"
        package = active.get(name)
        if package is None:
            problems[f"{who} {wish} on Python {python} {machine}, and the lock holds none"] = None
            continue
        if wish.specifier and not wish.specifier.contains(Version(package.version), prereleases=True):
            problems[f"{who} {wish}, and the lock holds {package.version}"] = None
        if origin is not None and origin.name != name:
            edges.setdefault((origin.name, origin.version), set()).add(name)
        visit = (name, frozenset(wish.extras))
        if visit in seen:
            continue
        seen.add(visit)
        extras = ("", *sorted(wish.extras))
        todo += [(package, further) for further in parse(package.requires) if _is_needed(further, one, extras)]
    return {name for name, _ in seen}


def parse(lines: Iterable[str]) -> Iterable[Requirement]:
    """The lines that are requirements; METADATA of old packages holds some that no installer reads either."""
    for line in lines:
        try:
            yield Requirement(line)
        except InvalidRequirement:
            continue


def _is_needed(wish: Requirement, one: Interpreter, extras: Iterable[str]) -> bool:
    return wish.marker is None or holds(wish.marker, one, extras)
