"""From a resolver's answer to our lock: only the wheels that the served interpreters can use, by file and hash."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.tags import Tag
from packaging.utils import BuildTag, InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from envdoctor.errors import Trouble
from envdoctor.facts.model import Interpreter
from envdoctor.locks.platforms import environments, holds, place, python_ranges, requires_python
from envdoctor.locks.stack import tags
from envdoctor.locks.writing.remote import name_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """One file of a resolved package. ``size`` is None until the index, or its server, has said it."""

    name: str
    address: str
    sha256: str
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """One package version of a resolution, on the interpreters it is meant for."""

    name: str
    version: str
    places: frozenset[tuple[str, str]]  # ("3.12", "x86_64")
    wheels: tuple[Wheel, ...]
    requires: tuple[str, ...] = ()  # Requires-Dist of its METADATA
    dependencies: tuple[str, ...] = ()  # names in the same lock
    extras: tuple[str, ...] = ()  # those that ask for it; () where it is locked for everybody


def read(answer: Mapping[str, Any], served: Sequence[Interpreter]) -> list[Resolved]:
    """The packages that any served interpreter needs, each with the wheels that any of those can use.

    ``answer`` is a pylock dict whose wheels all have a ``url`` (see `with_addresses`). Raises `Trouble` for a wheel
    without sha256.
    """
    ranks = {place(one): {tag: rank for rank, tag in reversed(list(enumerate(tags(one))))} for one in served}
    groups = answer.get("default-groups", ())
    packages = []
    for package in answer.get("packages", ()):
        marker = Marker(package["marker"]) if "marker" in package else None
        places = frozenset(place(one) for one in served if marker is None or holds(marker, one, groups=groups))
        if places:
            wheels = _usable(list(_wheels(package)), [ranks[where] for where in sorted(places)])
            name = str(canonicalize_name(package["name"]))
            packages.append(Resolved(name=name, version=str(package["version"]), places=places, wheels=wheels))
    return sorted(packages, key=lambda one: (one.name, one.version))


def with_addresses(answer: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The pylock dict with a ``url`` for every wheel; paths, which win over addresses, are relative to ``folder``."""

    def wheel(entry: Mapping[str, Any]) -> dict[str, Any]:
        if "path" not in entry:
            return dict(entry)
        return {**entry, "url": (folder / entry["path"]).absolute().as_uri()}

    packages = [{**package, "wheels": list(map(wheel, package.get("wheels", ())))} for package in answer["packages"]]
    return {**answer, "packages": packages}


def _wheels(package: Mapping[str, Any]) -> Iterable[Wheel]:
    for wheel in package.get("wheels", ()):
        address = wheel["url"]
        name = wheel.get("name") or name_of(address)
        digest = wheel.get("hashes", {}).get("sha256")
        if digest is None:
            raise Trouble(
                f"{name}: the index gives no sha256",
                remedy="Lock from an index that states hashes, or put the wheel into a find-links folder.",
                exit_code=3,
            )
        yield Wheel(name=name, address=address, sha256=digest.lower(), size=wheel.get("size"))


def _usable(wheels: Iterable[Wheel], supported: Iterable[Mapping[Tag, int]]) -> tuple[Wheel, ...]:
    """The wheels that some interpreter would take, on some age of the C library; of equal ones the newest build.

    Down an interpreter's list of tags, the first wheel for any platform ends the search: none after it is ever taken.
    """
    read = [(wheel, *parsed[2:]) for wheel in wheels if (parsed := _parse_filename(wheel)) is not None]
    taken: dict[str, Wheel] = {}
    for ranks in supported:
        fitting = [
            (min(ranks[tag] for tag in own & ranks.keys()), build, wheel, own)
            for wheel, build, own in read
            if own & ranks.keys()
        ]
        best: dict[int, tuple[BuildTag, Wheel, frozenset[Tag]]] = {}
        for rank, build, wheel, own in fitting:
            if rank not in best or build > best[rank][0]:
                best[rank] = (build, wheel, own)
        for _, (_, wheel, own) in sorted(best.items(), key=lambda item: item[0]):
            taken[wheel.name] = wheel
            if any(tag.platform == "any" for tag in own):
                break
    return tuple(sorted(taken.values(), key=lambda wheel: wheel.name))


def _parse_filename(wheel: Wheel) -> tuple[Any, Any, BuildTag, frozenset[Tag]] | None:
    try:
        return parse_wheel_filename(wheel.name)
    except InvalidWheelFilename:
        return None  # old names that no installer accepts either


def uncovered_places(packages: Iterable[Resolved], served: Sequence[Interpreter]) -> dict[tuple[str, str], str]:
    """The served places where some package has no wheel, and which."""
    missing: dict[tuple[str, str], str] = {}
    for one in served:
        usable = frozenset(tags(one))
        for package in packages:
            if place(one) in package.places and not any(
                parse_wheel_filename(w.name)[3] & usable for w in package.wheels
            ):
                missing.setdefault(place(one), f"{package.name} {package.version} has no wheel")
    return missing


def document(packages: Sequence[Resolved], served: Sequence[Interpreter]) -> dict[str, Any]:
    """The pylock dict, ready to be written."""
    whole = frozenset(place(one) for one in served)
    several = {one.name for one in packages if sum(other.name == one.name for other in packages) > 1}
    versions = {name: [one for one in packages if one.name == name] for name in several}
    return {
        "lock-version": "1.0",
        "environments": environments(served),
        "requires-python": requires_python(served),
        **({"extras": extras} if (extras := sorted({extra for one in packages for extra in one.extras})) else {}),
        "created-by": "envdoctor",
        "packages": [_entry(one, whole, versions) for one in packages if one.places & whole],
    }


def _entry(
    package: Resolved, whole: frozenset[tuple[str, str]], versions: Mapping[str, list[Resolved]]
) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": package.name, "version": package.version}
    where = marker(package.places & whole, whole) if package.places & whole != whole else ""
    asked = " or ".join(f"'{extra}' in extras" for extra in package.extras)
    if where and asked:
        entry["marker"] = f"({where}) and ({asked})"
    elif where or asked:
        entry["marker"] = where or asked
    if package.dependencies:
        entry["dependencies"] = [
            reference
            for name in package.dependencies
            for reference in (
                [{"name": name, "version": one.version} for one in versions[name] if one.places & package.places]
                if name in versions
                else [{"name": name}]
            )
        ]
    entry["wheels"] = [
        {"path": f"wheels/{wheel.name}", "size": wheel.size, "hashes": {"sha256": wheel.sha256}}
        for wheel in package.wheels
    ]
    return entry


def marker(places: frozenset[tuple[str, str]], whole: frozenset[tuple[str, str]]) -> str:
    """The shortest marker that is true at the places and false at the rest of the whole.

    Written anew, because a resolver words the same condition differently from one release to the next.
    """
    machines = sorted({machine for _, machine in whole})
    rows = {machine: frozenset(python for python, own in places if own == machine) for machine in machines}
    full = {machine: frozenset(python for python, own in whole if own == machine) for machine in machines}
    alternatives: dict[str, list[str]] = {}
    for machine in machines:
        if rows[machine]:
            alternatives.setdefault(_pythons(rows[machine], full[machine]), []).append(machine)
    terms = []
    for pythons, own in alternatives.items():
        where = " or ".join(f"platform_machine == '{machine}'" for machine in own) if own != machines else ""
        where = f"({where})" if len(own) > 1 and where and pythons else where
        text = " and ".join(part for part in (pythons, where) if part)
        terms.append(f"({text})" if len(alternatives) > 1 and " and " in text else text)
    return " or ".join(terms)


def _pythons(some: frozenset[str], full: frozenset[str]) -> str:
    if some == full:
        return ""
    minors = sorted(int(python.partition(".")[2]) for python in full)
    text = " or ".join(python_ranges(some))
    text = text.replace(f"python_version >= '3.{minors[0]}' and ", "")
    text = re.sub(rf" and python_version < '3\.{minors[-1] + 1}'", "", text)
    return f"({text})" if " or " in text else text
