"""CMake's errors: a heading with file and command, and below it the sentence, indented and broken into lines."""

from __future__ import annotations

from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

_HEADING = Pattern(
    r"(?:.{1,200} )?CMake Error (?:\(dev\) )?at \S.{0,300}?(?::\d{1,6})? ?(?:\((?P<command>\w{1,60})\))?:"
)
_ENDS = Pattern(r"Call Stack \(most recent|-- |CMake (?:Error|Warning)|Traceback \(most|See also \"")
_LINES = 12
"""CMake's own sentences are shorter; what follows is the output of a compiler that it tried."""


def read(page: Page, draft: Draft) -> None:
    """Each error in one message: "CMake Error (find_package): Could not find ..."."""
    for number, text in page.left():
        if (heading := _HEADING.fullmatch(text)) is None:
            continue
        own = _indent(page.lines[number])
        parts: list[str] = []
        for following, line in page.after(number):
            if len(parts) == _LINES or _ENDS.match(line) or (line and _indent(page.lines[following]) <= own):
                break
            if line:
                parts.append(line)
        if parts:
            command = f" ({heading['command']})" if heading["command"] else ""
            draft.message(f"CMake Error{command}: {' '.join(parts)}")
            page.take(number)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
