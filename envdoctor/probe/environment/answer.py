"""Answer a request, section by section: what was found stays on file even if a later section takes the process down."""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Callable, Dict

from . import damage, extensions, interpreter, packages
from .places import Places

Sections = Dict[str, Callable[[], Any]]


def main(request_path: str, answer_path: str) -> None:
    with open(request_path, encoding="utf-8") as stream:
        request = json.load(stream)
    places = Places(request)
    found = packages.read(places)
    sections: Sections = {
        "interpreter": lambda: interpreter.read(places, request),
        "packages": lambda: packages.section(places, found),
        "extensions": lambda: extensions.read(found),
        "damage": lambda: damage.read(places, found, deep=bool(request.get("deep"))),
    }
    write(sections, answer_path)


def write(sections: Sections, path: str) -> None:
    """One line of JSON for each section: its value, or the error that reading it raised, and the time it took."""
    with open(path, "w", encoding="ascii") as stream:
        for name, read in sections.items():
            started = time.perf_counter()
            answer: Dict[str, Any] = {"section": name}
            try:
                answer.update(result="success", value=read())
            except Exception as error:
                place = _place(sys.exc_info()[2])
                answer.update(result="error", error="%s: %s%s" % (type(error).__name__, error, place))
            answer["seconds"] = round(time.perf_counter() - started, 4)
            stream.write(json.dumps(answer) + "\n")
            stream.flush()


def _place(traceback: Any) -> str:
    place = ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        place = " (%s line %d)" % (code.co_filename.replace("\\", "/").rpartition("/")[2], traceback.tb_lineno)
        traceback = traceback.tb_next
    return place
