"""Lines of styled words, and how they are laid out on a terminal or in a file.

The report of ``check`` needs bold, dim, five colours and word wrap; a library that can do everything takes longer to
import than all rules take to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TextIO

from envdoctor.values.pattern import Pattern

Span = tuple[str, str]  # text, and its style: words of CODES

CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}
IN_FILES = 100  # columns where there is no terminal


class Line(NamedTuple):
    """One paragraph; ``indent`` columns stand before each of the lines it is wrapped into.

    ``whole``: one row, however long it is: a command that is copied with a line break in it is two commands.
    """

    spans: Sequence[Span] = ()
    indent: int = 0
    whole: bool = False


def line(text: str, style: str = "", indent: int = 0) -> Line:
    return Line(((text, style),), indent)


def command(text: str, style: str = "", indent: int = 0) -> Line:
    """A command: the terminal may fold it, which does not get into what is copied; a line break of ours would."""
    return Line(((text, style),), indent, whole=True)


def laid_out(lines: Iterable[Line], *, width: int = IN_FILES, colour: bool = False) -> str:
    """The text, wrapped at words into ``width`` columns; with ANSI colours if asked."""
    return "".join(
        " " * one.indent + _paint(row, colour=colour) + "\n"
        for one in lines
        for row in ([list(one.spans)] if one.whole else _wrap(one.spans, max(width - one.indent, 20)))
    )


def terminal(stream: TextIO, variables: Mapping[str, str]) -> tuple[int, bool]:
    """Width and colour for a stream: the terminal's, without colour for NO_COLOR and terminals that have none."""
    shown = stream.isatty()
    forced = variables.get("FORCE_COLOR", "") not in ("", "0")
    dull = variables.get("NO_COLOR", "") or (variables.get("TERM") in ("dumb", "unknown") and not forced)
    return _columns() if shown else IN_FILES, (shown or forced) and not dull


def _columns() -> int:
    import shutil  # with its archives it takes longer to import than a report to lay out

    return shutil.get_terminal_size((80, 24)).columns


def _wrap(spans: Sequence[Span], width: int) -> Iterator[list[Span]]:
    """Rows of at most ``width`` columns. Words longer than a row are cut; spaces at a row's end are dropped."""
    row: list[Span] = []
    used = 0
    for word in _words(spans, width):
        length = len("".join(text for text, _ in word).rstrip())
        if used and used + length > width:
            yield _trim(row)
            row, used = [], 0
        for text, style in word:
            while used + len(text.rstrip()) > width:
                row.append((text[: width - used], style))
                yield _trim(row)
                text, row, used = text[width - used :], [], 0
            row.append((text, style))
            used += len(text)
    yield _trim(row)


IN_WORDS = Pattern(
    r"(?<![\w/.-])(?:envdoctor [a-z]+(?: --?[a-z][\w-]*(?:[= ][^\s;,()]+)?)*"
    r"|(?:(?:python3? -m |uv )?pip3?|conda) (?:install|uninstall|show|list|check|download|create|update|remove|search|"
    r"config|cache|debug)\b(?: --?[\w-]+(?:=\S+)?)*(?: [^\s;,()]+)?)"
)
"""A command in the middle of a sentence: its verb, its options and the first thing that it is about."""


def _words(spans: Sequence[Span], width: int) -> Iterator[list[Span]]:
    """Pieces between which a row may be broken: each a word with the spaces after it, in one style or several; a
    command in a sentence is one, where a row has room for it."""
    word: list[Span] = []
    for text, style in spans:
        for piece in _pieces(text, width):
            if word and word[-1][0][-1:].isspace() and not piece[0].isspace():
                yield word
                word = []
            word.append((piece, style))
    if word:
        yield word


def _pieces(text: str, width: int) -> Iterator[str]:
    start = 0
    for found in IN_WORDS.finditer(text):
        piece = re.compile(r"\S*\s*").match(text, found.end())
        end = piece.end() if piece else found.end()
        if found.start() >= start and len(text[found.start() : end].rstrip()) <= width:
            yield from re.findall(r"\s+|\S+\s*", text[start : found.start()])
            yield text[found.start() : end]
            start = end
    yield from re.findall(r"\s+|\S+\s*", text[start:])


def _trim(row: list[Span]) -> list[Span]:
    while row and not row[-1][0].strip():
        row.pop()
    if row:
        row[-1] = (row[-1][0].rstrip(), row[-1][1])
    return row


def _paint(row: Sequence[Span], *, colour: bool) -> str:
    if not colour:
        return "".join(text for text, _ in row)
    joined: list[Span] = []
    for text, style in row:
        if joined and joined[-1][1] == style:
            joined[-1] = (joined[-1][0] + text, style)
        else:
            joined.append((text, style))
    return "".join(f"\x1b[{_codes(style)}m{text}\x1b[0m" if style else text for text, style in joined)


def _codes(style: str) -> str:
    return ";".join(CODES[word] for word in style.split())
