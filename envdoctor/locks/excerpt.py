"""What one interpreter can use of a lock as `envdoctor lock` writes it, read line by line.

`packaging.pylock` reads and selects whatever PEP 751 allows; its import alone takes longer than all of this, and every
check asks for a bundled lock. What is unusual is told by None, and left to it; a test holds that both choose alike.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag

from envdoctor.values.document import parse_toml
from envdoctor.values.pattern import Pattern

_WHEEL = Pattern(
    r'(?:wheels = \[|    )\{ path = "wheels/([^"/\\]+\.whl)", size = ([1-9]\d*), hashes = '
    r'\{ sha256 = "([0-9a-f]{64})" \} \}[],]'
)
_TEXT = Pattern(r'(?:(name) = "([a-z0-9]+(?:-[a-z0-9]+)*)"|(version|marker) = "([ !#-\[\]-~]*)")')

Entry = Mapping[str, Any]
Choice = tuple[Entry, Entry, tuple[str, ...]]  # a package, its wheel, sha256 of the others that would do


def read(text: str, path: Path, version: str, platform: str, here: dict[str, str]) -> dict[str, Any] | None:
    """What `tomllib` reads from the lock, without what surely is of no use here: dependencies, packages and wheels for
    other Pythons and platforms. None for a lock that looks otherwise.

    Of each package one wheel stays: without any it were no package. torch stays too: it is what a stack is named by.
    """
    machine = platform.partition("linux-")[2]
    if not machine or not here:
        return None
    holds = functools.cache(lambda marker: Marker(marker).evaluate(here, context="requirement"))  # few differ
    python = "cp" + "".join(version.split(".")[:2])
    head, *blocks = text.split("\n[[packages]]\n")
    packages = []
    for block in blocks:
        package: dict[str, Any] = {}
        wheels: list[re.Match[str]] = []
        for line in block.split("\n"):
            if line.startswith(("    {", "wheels = [{")):
                found = _WHEEL.fullmatch(line)
                if found is None:
                    return None
                wheels.append(found)
            elif found := _TEXT.fullmatch(line):
                package[found[1] or found[3]] = found[2] or found[4]
            elif line not in ("wheels = [", "]", "") and not line.startswith("dependencies = ["):
                return None
        if not wheels or not all(_is_of(wheel[1], package) for wheel in wheels):
            return None
        if "marker" in package and package["name"] != "torch" and not holds(package.pop("marker")):
            continue
        useful = [wheel for wheel in wheels if _may_run(wheel[1], python, machine)]
        package["wheels"] = [
            {"path": f"wheels/{wheel[1]}", "size": int(wheel[2]), "hashes": {"sha256": wheel[3]}}
            for wheel in useful or wheels[:1]
        ]
        packages.append(package)
    return {**parse_toml(head, path), "packages": packages}


def _is_of(wheel: str, package: Mapping[str, str]) -> bool:
    """Does a wheel's file name say the package's name and version, in the usual spelling?"""
    name, _, more = wheel.partition("-")
    plain = name.lower().replace("_", "-").replace(".", "-")
    return plain == package.get("name") and more.startswith(package.get("version", "-") + "-")


def _may_run(wheel: str, python: str, machine: str) -> bool:
    tags = wheel.rsplit("-", 3)
    return len(tags) < 4 or (
        (machine in tags[3] or tags[3] == "any.whl")
        and (python in tags[1] or "abi3" in tags[2] or tags[1].startswith("py"))
    )


def choose(data: Mapping[str, Any], markers: Mapping[str, str], usable: Sequence[Tag]) -> tuple[Choice, ...] | None:
    """The best wheel of each package, as `Pylock.select` chooses; None where it would have something to say."""
    if data.keys() - {"lock-version", "environments", "requires-python", "created-by", "tool", "packages"}:
        return None  # extras, groups, and what later versions may bring
    here = dict(markers)
    python = here["python_full_version"]
    if python.endswith("+") or not SpecifierSet(data.get("requires-python", "")).contains(python):
        return None
    environments = data.get("environments", ())
    if environments and not any(Marker(one).evaluate(here, context="requirement") for one in environments):
        return None
    ranks: dict[str, int] = {}
    for rank, tag in enumerate(usable):
        ranks.setdefault(f"{tag.interpreter}-{tag.abi}-{tag.platform}", rank)
    chosen: dict[str, Choice] = {}
    for package in data["packages"]:
        if "marker" in package and not Marker(package["marker"]).evaluate(here, context="requirement"):
            continue
        fitting = list(_by_rank(package["wheels"], ranks))
        if not fitting or package["name"] in chosen:
            return None
        best = min(fitting, key=lambda one: one[0])[1]
        also = tuple(wheel["hashes"]["sha256"] for _, wheel in fitting if wheel is not best)
        chosen[package["name"]] = (package, best, also)
    return tuple(chosen.values())


def _by_rank(wheels: Sequence[Entry], ranks: Mapping[str, int]) -> Iterator[tuple[int, Entry]]:
    """The wheels that can be used, in their order, with how far their best tag is from the newest."""
    for wheel in wheels:
        parts = wheel["path"].lower().removesuffix(".whl").rsplit("-", 3)[1:]
        tags = map("-".join, itertools.product(*(part.split(".") for part in parts)))
        if found := [ranks[tag] for tag in tags if tag in ranks]:
            yield min(found), wheel
