"""In which module the innermost frame of a traceback lies."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.values.pattern import Pattern

_WARNED = Pattern(r"\.py:\d+: \w*Warning\b")
_IMPORTS = Pattern(r'File "(?:<frozen |[^"]{0,200}[/\\]importlib[/\\]__init__\.py")')
_FILE = Pattern(
    r"(?:site|dist)-packages[/\\](?P<name>[A-Za-z_]\w{0,60})(?:[/\\]|\.py)|(?P<own>\bFile \"|ipython-input)"
)
_LAUNCHERS = frozenset("fire click typer hydra absl invoke jsonargparse tyro simple_parsing IPython ipykernel".split())
"""What calls a program's own function, and whose frames stand last where a traceback is cut."""
_CUT = Pattern(
    r"(?!\(\.{3}\)$)[\[(<]?(?:\.\.\.|…|snip|cut|truncated"
    r"|(?:\.{3} )?(?:skipping )?(?:hidden )?\d{1,3} (?:hidden )?frames?(?: hidden)?)[\])>]?",
    re.IGNORECASE,
)
"""A person's mark for what was left out; "(...)" is IPython's own, for lines of source within a frame."""


def raised_in(text: str, before: str) -> str:
    """The module that the innermost frame of a traceback lies in; "" for code that is not installed.

    Python's own way of importing stands between a module and what it fails to import; of a traceback that is cut nobody
    knows where it ended.
    """
    if _CUT.fullmatch(text):
        return ""
    if not text.startswith(("File ", "[/", "/", "~/")) and not re.match(r"[A-Za-z]:\\", text):
        return before
    if _WARNED.search(text):  # a line of source that warned, which is no frame
        return ""
    if _IMPORTS.match(text):
        return before
    found = None
    for found in _FILE.finditer(text):
        if found["name"]:
            break
    if found is not None and found["name"] in _LAUNCHERS:
        return ""
    return before if found is None else found["name"] or ""


_IMPORTED = Pattern(r"^\s{2,}(?:from|import) (?P<name>[A-Za-z_]\w{0,60})")
_FRAME_LINE = Pattern(r'^\s*File "[^"]{1,300}", line \d+')
_BLAMED = Pattern(
    r"cannot import name '\w{1,80}' from (?:partially initialized module )?'(?P<source>\w{1,60})"
    r"|module '(?P<module>\w{1,60})[\w.]{0,120}' has no attribute"
)


def code_of_last_frame(lines: Sequence[str]) -> str | None:
    """What stands below the last frame of a text; None where it has no frame of Python's own form."""
    at = max((number for number, line in enumerate(lines) if _FRAME_LINE.match(line)), default=None)
    if at is None:
        return None
    return lines[at + 1] if at + 1 < len(lines) else ""


def raised_where_cut(code: str | None, error: str, last: str) -> str:
    """Whose code ended in the error that a heading tells, of a traceback that is cut off before it; "" where nobody
    can tell: its last frame has lost its line, or imports something else, whose frames are cut.

    ``code`` is what `code_of_last_frame` tells, ``last`` the module of that frame.
    """
    if code is None:
        return last
    if not code.startswith(" ") or not code.strip():
        return ""
    blamed, imported = _BLAMED.search(error), _IMPORTED.match(code)
    if blamed is None or imported is None:
        return last
    missed = blamed["source"] or blamed["module"]
    if imported["name"] == missed:
        return last
    return "" if imported["name"] == last else imported["name"]  # its own part, of which the frames are cut
