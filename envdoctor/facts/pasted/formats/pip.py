"""``pip list``, ``pip freeze``, ``pip show``, ``pip check``, ``uv pip list``, requirement files of exact pins."""

from __future__ import annotations

import re

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import INFERRED, LISTED, Draft
from envdoctor.facts.pasted.formats.huggingface import PACKAGES
from envdoctor.facts.pasted.formats.wheel_names import is_refused, refusals
from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

FORMAT = "pip"
_NAME = r"[A-Za-z0-9](?:[\w.-]{0,78}[A-Za-z0-9])?"
_PIN = Pattern(rf"({_NAME})(?:\[[\w,\s-]{{0,80}}\])?\s?===?\s?({words.VERSION})(?:\s*(?:;|#|@).*)?")
_DIRECT = Pattern(rf"({_NAME})\s+@\s+(?:file|git\+\w+|https?)://\S+")
_WHEEL = Pattern(
    rf"({_NAME})-({words.VERSION})(?:-\d[\w.]{{0,40}})?-(?:cp|py)\w{{1,80}}-\w{{1,80}}-[\w.]{{1,200}}\.whl"
)
_ROW = Pattern(rf"({_NAME})\s+({words.VERSION})(?:\s+(?:(?P<place>[/~A-Za-z]\S*)(?:\s+\S+)?))?")
_HEADING = Pattern(r"\|?\s*Package(?:\s+|\s*\|\s+)(?:\|\s*)?Version\b.*", re.IGNORECASE)
_RULE = Pattern(r"[-|\s:]{6,}")


def read(page: Page, draft: Draft) -> None:
    _tables(page, draft)
    _pip_show(page, draft)
    _pins(page, draft)
    _wheels(page, draft)
    _loose(page, draft)


def _tables(page: Page, draft: Draft) -> None:
    """Rows under "Package  Version", up to the first line that is none."""
    for number, text in list(page.left()):
        if not _HEADING.fullmatch(text):
            continue
        page.take(number)
        draft.format(FORMAT)
        rows = 0
        for line, row in page.after(number):
            plain = row.strip("| ").replace(" | ", "  ")
            if _RULE.fullmatch(row) and row:
                page.take(line)
            elif found := _ROW.fullmatch(plain):
                page.take(line)
                rows += 1
                place = found["place"]
                draft.package(found[1], found[2], LISTED, location=place, editable=bool(place and "/" in place))
            elif row or rows:
                break
        if rows > 60:  # a filtered list names what somebody looked for; a whole one is longer
            draft.whole_list = True


def _pip_show(page: Page, draft: Draft) -> None:
    """``pip show``: "Name: torch", "Version: 2.2.1", and what follows up to the next name."""
    name = None
    for number, text in list(page.left()):
        key, colon, value = text.partition(":")
        value = value.strip()
        if not colon:
            continue
        if key == "Name" and re.fullmatch(_NAME, value):
            name = value
            page.take(number)
        elif key == "Version" and name and words.whole_version(value):
            draft.package(name, value, LISTED)
            draft.format(FORMAT)
            page.take(number)
        elif name and key in _SHOWN:
            page.take(number)


_SHOWN = frozenset(("Summary", "Home-page", "Author", "Author-email", "License", "License-Expression", "Location",
                    "Requires", "Required-by", "Editable project location", "Installer"))  # fmt: skip


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pins(page: Page, draft: Draft) -> None:
    """Lines that are pins and nothing else; several on one line are parted by commas or spaces."""
    for number, text in list(page.left()):
        if "==" not in text and "@" not in text:
            continue
        parts = [part for part in re.split(r"[,;]?\s+|,", re.sub(r"\s?(===?)\s?", r"\1", text)) if part]
        pins = [_PIN.fullmatch(part) for part in parts[:40]]
        if len(parts) <= 40 and all(pins):
            for pin in pins:
                if pin:
                    draft.package(pin[1], pin[2], LISTED)
        elif single := _PIN.fullmatch(text):
            draft.package(single[1], single[2], LISTED)
        elif direct := _DIRECT.match(text):
            wheel = _WHEEL.search(text.replace("%2B", "+"))
            if wheel:
                draft.package(direct[1], wheel[2], LISTED, source="archive")
        else:
            continue
        page.take(number)
        draft.format(FORMAT)


def _wheels(page: Page, draft: Draft) -> None:
    """File names of wheels, wherever they stand; their labels say what an extension was built for."""
    names = refusals(page)
    for _, text in page.left():
        if (
            ".whl" in text
            and not is_refused(text, names)
            and not re.search(r"\b404\b|not found|failed url|broken", text, re.IGNORECASE)
        ):
            for wheel in _WHEEL.finditer(text.replace("%2B", "+")):
                draft.package(wheel[1].rpartition("/")[2], wheel[2], INFERRED)
                draft.format(FORMAT)


def _loose(page: Page, draft: Draft) -> None:
    """Rows without their heading: "torch   2.6.0+cu124" where the name is a known distribution, or a run of rows."""
    rows = [(number, found) for number, text in page.left() if (found := _ROW.fullmatch(text))]
    numbers = {number for number, _ in rows}
    for number, found in rows:
        run = number - 1 in numbers or number + 1 in numbers
        if found["place"] and not run and "  " not in page.lines[number].strip() and "/" not in found["place"]:
            continue  # a sentence: "torch 2.4.0 fails"
        known = _canonical(found[1]) in PACKAGES or found[1].lower() in ("torch", "pytorch")
        if known or (run and "  " in page.lines[number].strip()):
            draft.package("torch" if found[1].lower() == "pytorch" else found[1], found[2], LISTED)
            draft.format(FORMAT)
            page.take(number)
