"""The user's own defaults: ``envdoctor.toml``, or ``[tool.envdoctor]`` in ``pyproject.toml``, where they work."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble

PARAMETERS = {
    "target": "target_name",
    "targets": "own_targets",
    "stack": "stack",
    "env": "env",
    "select": "select",
    "ignore": "ignore",
    "fail-on": "fail_on",
    "script": "scripts",
    "dockerfile": "images",
    "price": "price",
}
"""Keys of the configuration and the command-line parameters that they are defaults of; ``targets`` is of none."""

FILE = "envdoctor.toml"
LISTS = frozenset({"select", "ignore", "script", "dockerfile", "targets"})


def read(folder: Path) -> dict[str, Any]:
    """Defaults by parameter name; empty without a configuration. Raises `Trouble` with the line of a mistake."""
    own, project = folder / FILE, folder / "pyproject.toml"
    if own.is_file():
        return _validate(_parse(own), own)
    return _validate(in_project(project), project)


def in_project(project: Path) -> Any:
    """The table ``[tool.envdoctor]`` of a ``pyproject.toml``; empty where there is none."""
    if not project.is_file() or not _mentions_us(project):
        return {}
    tool = _parse(project).get("tool", {})
    return tool.get("envdoctor", {}) if isinstance(tool, dict) else {}


_LONGEST = 8 * 1024 * 1024  # bytes; a longer one is nobody's project file, and parsing it is refused anyway


def _mentions_us(project: Path) -> bool:
    """Most projects say nothing to us, and a mistake in their file is not ours to report."""
    try:
        with project.open("rb") as stream:
            said = b"\n" + stream.read(_LONGEST).translate(None, b" \t\"'")
    except OSError:
        return False
    return b"envdoctor" in said and any(form in said for form in (b"tool.envdoctor", b"[tool]", b"\ntool={"))


def _parse(path: Path) -> dict[str, Any]:
    from envdoctor.values.document import read_text  # with it comes the TOML parser, while nothing else has started yet

    return _parse_text(read_text(path), path)


@functools.lru_cache(maxsize=1)
def _parse_text(text: str, path: Path) -> dict[str, Any]:
    """Asked for twice in a check: once for the options, once for targets of one's own."""
    from envdoctor.values.document import parse_toml

    return parse_toml(text, path)


def _validate(data: Any, path: Path) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise Trouble("expected a table", file=path, where="tool.envdoctor")
    if not data:
        return {}
    from envdoctor.values.document import line_of

    defaults: dict[str, Any] = {}
    for key, value in data.items():
        if key not in PARAMETERS:
            import difflib  # for a mistake only: it takes a millisecond

            near = difflib.get_close_matches(key, PARAMETERS, n=1)
            remedy = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(PARAMETERS)}"
            raise Trouble(f"unknown key {key!r}", file=path, where=line_of(path, key), remedy=remedy)
        good = isinstance(value, str) or (
            key in LISTS and isinstance(value, list) and all(isinstance(item, str) for item in value)
        )
        if not good:
            wanted = "a list of texts" if key in LISTS else "text"
            raise Trouble(f"{key}: expected {wanted}, found {value!r}", file=path, where=line_of(path, key))
        if not all(text.isprintable() for text in ([value] if isinstance(value, str) else value)):
            raise Trouble(f"{key}: expected printable text, found {value!r}", file=path, where=line_of(path, key))
        defaults[PARAMETERS[key]] = [value] if key in LISTS and isinstance(value, str) else value
    return defaults
