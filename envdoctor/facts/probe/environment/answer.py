"""The sections that the environment's own Python answers, the surest first."""

from __future__ import annotations

import json

from ..sections import tell
from . import damage, extensions, interpreter, packages
from .places import EnvironmentPlaces

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Callable, Dict


def main(request_path: str, answer_path: str) -> None:
    """Answer the request (working directory, PYTHONPATH, ``deep``) section by section."""
    with open(request_path, encoding="utf-8") as stream:
        request = json.load(stream)
    places = EnvironmentPlaces(request)
    found, deep = packages.read(places), bool(request.get("deep"))
    sections: Dict[str, Callable[[], Any]] = {
        "interpreter": lambda: interpreter.read(places, request),
        "packages": lambda: packages.section(places, found),
        "extensions": lambda: extensions.read(found),
        "damage": lambda: damage.read(places, found, deep=deep, beside=bool(request.get("beside"))),
    }
    with open(answer_path, "w", encoding="utf-8") as answer:
        for name, read in sections.items():
            tell(answer, name, read)
