"""Programs of end users with a Python of their own: which one a file belongs to, and what brings what it lacks.

People who run such a program did not write its code and seldom know its environment: "pip install" in any window goes
into another Python. What helps them is the program's own installer, or pip called by that very Python.
"""

from __future__ import annotations

import re
from functools import cached_property

from envdoctor.knowledge.table import Rows, bundled_table
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern


@frozen
class Program:
    """A program that is known by the ``path`` of a file, which may name the ``{part}`` of it that is meant."""

    path: str
    what: str
    remedy: str
    source: str
    modules: str = ""
    commands: tuple[str, ...] = ()
    windows: tuple[str, ...] = ()

    @cached_property
    def pattern(self) -> Pattern:
        return Pattern(self.path, re.IGNORECASE)

    def brings(self, module: str) -> bool:
        """Does the row speak of this missing module?"""
        return not self.modules or re.fullmatch(self.modules, module.partition(".")[0]) is not None

    def of(self, path: str) -> Program | None:
        """The row with the part filled in that the path names, if it is a path of this program."""
        found = self.pattern.search(path)
        if found is None:
            return None
        part = found.groupdict().get("part") or ""

        def filled(text: str) -> str:
            return text.replace("{part}", part)

        return Program(
            path=self.path,
            what=filled(self.what),
            remedy=filled(self.remedy),
            source=self.source,
            modules=self.modules,
            commands=tuple(map(filled, self.commands)) if _plain(part) else (),
            windows=tuple(map(filled, self.windows)) if _plain(part) else (),
        )


PROGRAMS = Rows(bundled_table("programs"), "program", Program, by="what")


def program_of(path: str, module: str) -> Program | None:
    """The program whose file the path is, and what brings it this module."""
    found = (row.of(path) for row in PROGRAMS if row.brings(module))
    return next((one for one in found if one is not None), None)


_KNOWN = Pattern(
    r"custom_nodes|comfyui|fluxgym|stabilitymatrix|pinokio|webui|textgen|oobabooga|fooocus|kohya|ai-toolkit|llama-?factory"
    r"|sovits|rvc|voice-conversion|applio|forge|sdnext|sd\.next|automatic",
    re.IGNORECASE,
)
"""Words of the rows' paths: without one of them no row need be asked."""


def names_a_program(path: str) -> bool:
    """Is it a file of one of them?"""
    return _KNOWN.search(path) is not None and any(row.pattern.search(path) for row in PROGRAMS)


def _plain(part: str) -> bool:
    """May it stand in a command as it is?"""
    return re.fullmatch(r"[\w@.-]{0,60}", part) is not None


_DESKTOP = Pattern(r"comfyui-electron|[\\/]Programs[\\/]{1,2}ComfyUI[\\/]", re.IGNORECASE)
_INTERPRETERS = (
    (Pattern(r"(python_embedd?ed)\b", re.IGNORECASE), r"{}\python.exe"),
    (
        Pattern(
            r"[\\/][^\\/]{0,40}ComfyUI[^\\/]{0,40}[\\/]{1,2}(python)[\\/]{1,2}(?:lib[\\/]|python\.exe)", re.IGNORECASE
        ),
        r"{}\python.exe",
    ),
    (Pattern(r"[\\/](system[\\/]{1,2}python)[\\/]{1,2}(?:lib[\\/]|python\.exe)", re.IGNORECASE), r"{}\python.exe"),
    (Pattern(r"[\\/](installer_files[\\/]{1,2}env)[\\/]", re.IGNORECASE), r"{}\python.exe"),
    (Pattern(r"[\\/](runtime)[\\/]{1,2}(?:lib[\\/]{1,2}site-packages|python\.exe)", re.IGNORECASE), r"{}\python.exe"),
    (
        Pattern(r"[\\/](venv)[\\/]{1,2}(?:lib[\\/]{1,2}site-packages|Scripts[\\/]{1,2}python)", re.IGNORECASE),
        r"{}\Scripts\python.exe",
    ),
)
"""Folders in which programs for Windows keep their Python, and it, seen from the program's own folder."""


def own_python(line: str) -> str | None:
    """The Python of a program for Windows that a line names, as it is called from the program's folder."""
    for pattern, python in _INTERPRETERS:
        if found := pattern.search(line):
            folder = re.sub(r"[\\/]+", r"\\", found[1])
            return python.format(folder)
    return None


def is_desktop(line: str) -> bool:
    """A file of ComfyUI's desktop app, whose Python lies in the folder .venv where the user keeps his files."""
    return _DESKTOP.search(line) is not None
