"""The requirements that a stack is locked from: a plain requirements file, with one block that says for whom.

``lockfiles/inputs/<stack>.in`` is what pip and uv read too; the block stands in comments, as in scripts (PEP 723)::

    # /// lock
    # pythons = ["3.11", "3.12"]
    # machines = ["x86_64"]
    # exclude-newer = "2025-11-12"
    # ///
    torch==2.9.0

The reader is our own: pip-api 0.0.34 takes the blanks out of a marker ("'3.11'andplatform_machine"), so that it refuses
every one with ``and``, and of two lines for one package under two markers it keeps the last. uv and pip check hashes
themselves when they install.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from envdoctor.errors import Trouble
from envdoctor.facts.model import Interpreter
from envdoctor.locks.platforms import DESKTOPS, MACHINES, PYTHONS, interpreters
from envdoctor.values.document import parse_toml, read_text

DEPTH = 8  # requirements files that include each other; deeper is a cycle or a mistake


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What to lock and for whom. ``options`` are uv's, from the file itself (``--find-links`` and the like)."""

    requirements: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    pythons: tuple[str, ...] = PYTHONS
    machines: tuple[str, ...] = MACHINES
    exclude_newer: str | None = None
    options: tuple[str, ...] = ()
    exact: bool = False  # lock these and nothing else: they are a whole environment, as it was found

    @property
    def served(self) -> tuple[Interpreter, ...]:
        return interpreters(self.pythons, self.machines)


def read(path: Path, **defaults: tuple[str, ...]) -> Inputs:
    """Read a requirements file. ``defaults`` (``pythons``, ``machines``) hold where the file's block says nothing.

    Raises `Trouble` with the line of anything that cannot be locked: editable installs, addresses, folders.
    """
    requirements: list[str] = []
    constraints: list[str] = []
    options: list[str] = []
    for file, number, line in _lines(path, DEPTH):
        if line.startswith("-"):
            words = re.split(r"[\s=]+", line, maxsplit=1)
            if words[0] in ("-c", "--constraint") and len(words) > 1:
                included = file.parent / words[1]
                constraints += [line for _, _, line in _lines(included, DEPTH) if not line.startswith("-")]
            else:
                options += _option(words, file, number)
        else:
            requirements.append(_check_requirement(line, file, number))
    if not requirements:
        raise Trouble("no requirements in it", file=path, remedy="Name at least one package.")
    said = {**defaults, **_block(path)}
    return Inputs(requirements=tuple(requirements), constraints=tuple(constraints), options=tuple(options), **said)


def _lines(path: Path, depth: int) -> Iterator[tuple[Path, int, str]]:
    """Requirement and option lines, comments and hashes removed, continued lines joined, included files in place."""
    if not depth:
        raise Trouble(
            "requirements files include each other too deeply", file=path, remedy="Look for a cycle of -r lines."
        )
    text = read_text(path).replace("\\\r\n", " ").replace("\\\n", " ")
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*$", "", raw).strip()
        line = re.sub(r"\s+--hash[= ]\S+", "", line)
        if match := re.fullmatch(r"(?:-r|--requirement)[\s=]*(\S.*)", line):
            yield from _lines(path.parent / match[1], depth - 1)
        elif line:
            yield path, number, line


def _option(words: list[str], file: Path, number: int) -> list[str]:
    spelled = {
        "-i": "--default-index",
        "--index-url": "--default-index",
        "--extra-index-url": "--index",
        "-f": "--find-links",
    }
    name = spelled.get(words[0], words[0])
    if name in ("--default-index", "--index", "--find-links") and len(words) > 1:
        value = words[1].strip()
        folder = file.parent / value
        return [name, str(folder.resolve()) if name == "--find-links" and folder.is_dir() else value]
    if name in ("--no-index", "--pre", "--prefer-binary", "--require-hashes", "--only-binary", "--no-binary"):
        return {"--no-index": ["--no-index"], "--pre": ["--prerelease", "allow"]}.get(name, [])
    raise Trouble(
        f"{words[0]} cannot be locked",
        file=file,
        where=f"line {number}",
        remedy="A stack holds released wheels only: name the package and its version instead.",
    )


def _check_requirement(line: str, file: Path, number: int) -> str:
    where = f"line {number}"
    try:
        requirement = Requirement(line)
    except InvalidRequirement as error:
        problem = str(error).splitlines()[0][:200]
        raise Trouble(
            f"{line[:200]!r}: {problem}", file=file, where=where, remedy="Correct that requirement."
        ) from error
    if requirement.url:
        remedy = (
            "A stack holds released wheels only: publish it to an index, or put its wheel into a find-links folder."
        )
        raise Trouble(
            f"{requirement.name} comes from an address and cannot be locked", file=file, where=where, remedy=remedy
        )
    return line


def _block(path: Path) -> dict[str, Any]:
    lines = read_text(path).splitlines()
    starts = [n for n, line in enumerate(lines) if line.strip() == "# /// lock"]
    if not starts:
        return {}
    end = next((n for n, line in enumerate(lines) if n > starts[0] and line.strip() == "# ///"), None)
    if end is None:
        raise Trouble("the block is not closed", file=path, where=f"line {starts[0] + 1}", remedy="End it with: # ///")
    body = "\n".join(line.removeprefix("#").strip() for line in lines[starts[0] + 1 : end])
    table = parse_toml(body, path, first_line=starts[0] + 2)
    return dict(_settings(table, path, starts[0] + 1))


def _settings(table: Mapping[str, Any], path: Path, line: int) -> Iterator[tuple[str, Any]]:
    allowed = {"pythons": PYTHONS, "machines": (*MACHINES, *DESKTOPS)}
    for key, value in table.items():
        if key in allowed:
            if not isinstance(value, list) or not value or not all(item in allowed[key] for item in value):
                problem = f"{key} = {value!r}: expected some of {', '.join(allowed[key])}"
                raise Trouble(problem, file=path, where=f"line {line}")
            yield key, tuple(value)
        elif key == "exclude-newer" and re.fullmatch(r"\d{4}-\d\d-\d\d", str(value)):
            yield "exclude_newer", str(value)
        else:
            raise Trouble(f"{key} = {value!r} is not understood in the lock block", file=path, where=f"line {line}")
