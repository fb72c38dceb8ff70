"""Tables of two columns, as programs pad them and Markdown rules them: a row becomes "key: value", which is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.facts.pasted.formats import collect_env, machine
from envdoctor.facts.pasted.page import normal
from envdoctor.values.pattern import Pattern

_PADDED = Pattern(r"\s*(?P<key>[A-Za-z_](?:\S| (?! )){0,38}?)\s{2,60}(?P<value>[^\s:=].{0,300})")
_RULE = Pattern(r"\|?\s{0,9}:?-{1,200}:?\s{0,9}(?:\|\s{0,9}:?-{1,200}:?\s{0,9}){1,8}\|?")
_HAS = Pattern(r"\W*(?:installed|versions?|actual|current|values?|have|mine|here|my\b.*)\W*", re.IGNORECASE)
_ASKED = Pattern(r"requir|minim|recommend|expect|tested|support|wanted|need|latest|fix|work", re.IGNORECASE)
_OF_PACKAGES = frozenset(("python", "torch", "pytorch"))
"""Keys that lists of packages have as well."""
_LEAST, _MOST, _LONG = 2, 9, 600


def as_pairs(lines: Sequence[str]) -> list[str]:
    """The lines with such rows written as pairs."""
    rows = list(_rows_of_columns(list(_rows_of_markdown(lines))))
    return rows[: len(lines)]  # without the line that ends the last run


def _rows_of_columns(lines: Sequence[str]) -> Iterator[str]:
    """Runs of rows whose keys stand in a column, where two at least are a machine's and no list's of packages."""
    run: list[tuple[str, re.Match[str]]] = []
    for line in (*lines, ""):
        found = _PADDED.fullmatch(line)
        if found is not None and ":" not in found["key"]:
            run.append((line, found))
            continue
        known = sum(_is_of_a_machine(each["key"]) for _, each in run)
        yield from (f"{row['key']}: {row['value']}" if known >= _LEAST else text for text, row in run)
        run = []
        yield line


def _is_of_a_machine(key: str) -> bool:
    plain = normal(key)
    if plain in _OF_PACKAGES:
        return False
    return plain in machine.FIELDS or plain in collect_env.FIELDS or re.fullmatch(r"gpu \d[\d,]*", plain) is not None


def _rows_of_markdown(lines: Sequence[str]) -> Iterator[str]:
    """Markdown's tables: the column that tells what is there, and none that tells what is asked for."""
    place: int | None = None
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        heads = _cells(line)
        if heads and _RULE.fullmatch(following.strip()):
            place = _column(heads)
            row = _pair(heads, place) if place and re.match(r"v?\d", heads[place]) else None
        elif place and (cells := _cells(line)) and not _RULE.fullmatch(line.strip()):
            row = _pair(cells, place)
        else:
            place = place if place and _RULE.fullmatch(line.strip()) else None
            row = None
        yield row or line


def _cells(line: str) -> list[str]:
    cells = line.strip().removeprefix("|").removesuffix("|").split("|") if len(line) < _LONG else []
    return [cell.strip(" *`_") for cell in cells] if _LEAST <= len(cells) <= _MOST else []


def _column(heads: Sequence[str]) -> int | None:
    if re.fullmatch(r"package", heads[0], re.IGNORECASE) and re.fullmatch(r"version", heads[1], re.IGNORECASE):
        return None  # pip's own
    if len(heads) == 2:
        return None if _ASKED.search(heads[1]) else 1
    having = [place for place, head in enumerate(heads) if place and _HAS.fullmatch(head)]
    return having[0] if len(having) == 1 else None


def _pair(cells: Sequence[str], place: int) -> str | None:
    return f"{cells[0]}: {cells[place]}" if place < len(cells) and cells[0] and cells[place] else None


_CHANGED = Pattern(
    r"^(?P<name>[\s*>+-]{0,8}[A-Za-z][\w .-]{1,40}?(?: ?[:=]{1,2} ?| ))v?\d[\w.+-]{1,30} ?(?:->|=>|→|➔) ?(?=v?\d+\.\d)"
)


def as_now(line: str) -> str:
    """Of a release that was changed ("torch: 2.1.2 -> 2.2.1") the one that is there now."""
    return _CHANGED.sub(r"\g<name>", line)
