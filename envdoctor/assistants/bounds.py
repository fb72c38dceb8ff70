"""What an assistant may ask for, and how much it is told: environments of the server's own, answers that fit.

Examining an environment runs its Python. An assistant can be talked into naming any folder, so only those are examined
that whoever started the server meant.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.facts import scrub

LIMIT = 60_000  # characters of an answer's document, and of its text
_LISTS = (500, 200, 80, 30, 10)  # members kept of each list; the first that fits
_FIELDS = 60  # members kept of an object at least: none of ours has as many


def places(named: Iterable[Path], variables: Mapping[str, str], folder: Path) -> tuple[Path, ...]:
    """Folders whose environments may be examined: those named, or else the active environment and what lies below the
    working directory (but never below the root)."""
    chosen = [os.path.abspath(path.expanduser()) for path in named]
    if not chosen:
        active = (variables.get("VIRTUAL_ENV"), variables.get("CONDA_PREFIX"), sys.prefix, str(folder))
        chosen = [os.path.abspath(path) for path in active if path]
    return tuple(Path(os.path.realpath(path)) for path in chosen if os.path.dirname(path) != path)


def require_place(env: str, allowed: Iterable[Path]) -> None:
    """Raises `Trouble` for an environment elsewhere; links are followed, but for the python of an environment."""
    path = os.path.abspath(os.path.expanduser(env))
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    real = Path(os.path.realpath(folder))
    if not any(real.is_relative_to(place) for place in allowed):
        raise Trouble(
            "lies in none of the folders that this server was started for",
            where=env,
            remedy="Whoever runs the server can name it: envdoctor mcp --env PATH",
        )


def fit_to_size(document: Any) -> tuple[Any, bool]:
    """The document without secrets, its long lists and texts cut until it fits; and whether anything was cut."""
    whole = _shorten(document, sys.maxsize)
    if len(json.dumps(whole)) <= LIMIT:
        return whole, False
    for most in _LISTS:
        cut = _shorten(whole, most)
        if len(json.dumps(cut)) <= LIMIT:
            break
    return cut, True


def fitted_text(text: str) -> str:
    """Text for others: no secrets, no control characters, and no longer than an answer may be."""
    safe = scrub.text(text, opaque=False)
    return safe if len(safe) <= LIMIT else f"{safe[:LIMIT]}\n[cut after {LIMIT} characters]"


def _shorten(value: Any, most: int) -> Any:
    if isinstance(value, str):
        text = scrub.without_secrets(scrub.printable(value, keep_lines=True), opaque=False)
        return text[: most * 20] if most < sys.maxsize else text
    if isinstance(value, list):
        return [_shorten(member, most) for member in value[:most]]
    if isinstance(value, dict):
        return {name: _shorten(member, most) for name, member in list(value.items())[: max(most, _FIELDS)]}
    return value
