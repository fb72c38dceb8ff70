"""Which program ran: the files that tracebacks and logs name, and whose package is missing from them."""

from __future__ import annotations

import re

from envdoctor.facts.pasted.draft import Draft
from envdoctor.knowledge.programs import names_a_program
from envdoctor.values.pattern import Pattern

_PATH = Pattern(r"(?<![\w.\]])(?:[A-Za-z]:[\\/]|/|~/)[^\"'*?<>|:\n]{3,300}")
"""A file that a traceback or a log names."""
_FRAMED = Pattern(r"File [\"“](?P<file>[^\"”\n]{3,300})[\"”]")
_LACKING = Pattern(r"No module named ['\"]?([A-Za-z_][\w.]{0,80})")


class ProgramFiles:
    """What the lines named until now, in their order. ``framed``: the last file of a traceback that is a program's."""

    def __init__(self) -> None:
        self.framed = ""
        self._program = ""
        self._files: list[str] = []

    def see(self, text: str, draft: Draft) -> None:
        """Take one more line; a module that is missing there is remarked with the program or project that lacks it."""
        if ("/" in text or "\\" in text) and (path := _path_of_program(text)):
            self._program = path
            self.framed = path if _FRAMED.search(text) else self.framed
        if framed := _FRAMED.search(text):
            self._files = [*self._files[-40:], framed["file"]]
        if lacking := _LACKING.search(text):
            if self._program:
                draft.remark(f"program that lacks {lacking[1]}", self._program)
            if root := _root_of(lacking[1], self._files):
                draft.remark(f"project of {lacking[1]}", root)


def _root_of(module: str, files: list[str]) -> str | None:
    """The folder of the project whose own package the missing module is: one of its files ran by its path."""
    top = module.partition(".")[0]
    if len(top) < 4:
        return None
    for file in files:
        parts = re.split(r"[/\\]+", file)
        if top in parts[1:-1] and "site-packages" not in parts and "dist-packages" not in parts:
            place = parts.index(top, 1)
            place -= parts[place - 1] == "src"
            root = "\\".join(parts[:place]) if "\\" in file else "/".join(parts[:place])
            return root if re.fullmatch(r"[\w.:/\\~-]{2,200}", root) else "."
    return None


def _path_of_program(text: str) -> str | None:
    """The file of an end user's program that the line names."""
    framed, bare = _FRAMED.search(text), _PATH.search(text)
    path = framed["file"] if framed else bare[0] if bare else ""
    return path if path and names_a_program(path) else None
