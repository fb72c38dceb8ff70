"""The small words of reports: unknowns, truth values, versions, sizes, sizes of memory."""

from __future__ import annotations

import re

_UNKNOWN = frozenset(
    """n/a na none null nil unknown unset not-set nan - -- ? [n/a] err! could-not-collect not-available not-installed
    not-found no-cuda no-relevant-packages not-applicable not-reported not-shown not-stated not-given not-filled-in
    fill-in [not-supported] [unknown-error] [insufficient-permissions] [gpu-is-lost] not-supported undefined
    could-not-be-collected not-collected unavailable <fill-in> <fill-in>. requested-functionality-has-been-deprecated
    """.split()
)
_TRUE = frozenset("true yes 1 on enabled available ok".split())
_FALSE = frozenset("false no 0 off disabled unavailable".split())

VERSION = (
    r"\d{1,20}(?:\.\d{1,20}){0,9}(?:[-_.]?(?:a|b|c|rc|alpha|beta|post|dev)[-_.]?\d{0,20}){0,3}"
    r"(?:\+[A-Za-z0-9]{1,60}(?:[._-][A-Za-z0-9]{1,60}){0,9})?"
)
"""Bounded in every part: PEP 440 has at most a pre-, a post- and a development release, each once."""
_VERSION = re.compile(rf"v?({VERSION})(?![\w+])")
_SIZE = re.compile(r"(?<!\d)(\d{1,20}(?:\.\d{1,20})?)\s{0,20}([KMGT]i?B?|bytes|B)\b", re.IGNORECASE)
_UNITS = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


_CARD = re.compile(
    r"(?:NVIDIA|GeForce|Tesla|Quadro|TITAN|[RG]TX|GRID|Jetson|DGX|Orin|Thor|AMD|Radeon|Intel|Arc|[A-Z]{1,2}\d{1,4}|\d{3,4})\b"
)


def is_card(text: str) -> bool:
    """Does the text read as a GPU's name, rather than as a sentence that holds one?"""
    plain = text.strip()
    return (
        re.search(r"\d", plain) is not None
        and _CARD.match(plain) is not None
        and re.search(r"(?<![\w-])[a-z]{3,}(?![\w-])", plain) is None
        and len(plain.split()) <= 8
    )


def is_unknown(value: str) -> bool:
    """Does the value say that nothing is known? ("Could not collect", "N/A", "not installed", ...)"""
    word = re.sub(r"\s+", "-", value.strip(" .,\"'").lower())
    return not word or word in _UNKNOWN


def truth(value: str) -> bool | None:
    """True, False, or None for anything that is neither ("NA")."""
    word = value.strip(" .,()\"'").lower().partition(" ")[0].rstrip(",;")
    return True if word in _TRUE else False if word in _FALSE else None


def version(value: str) -> str | None:
    """The first version in the value: "version 3.18.4" and "(Ubuntu 9.4.0-1) 9.4.0" alike give theirs."""
    found = _VERSION.search(value)
    return found[1] if found else None


def whole_version(value: str) -> str | None:
    """The value when it is a version and nothing else but a bracketed remark."""
    found = re.fullmatch(rf"v?({VERSION})(?:\s*[(\[].*)?", value.strip(" ,;'\""))
    return found[1] if found else None


def size(value: str) -> int | None:
    """Bytes of "503.51 GB", "81920MiB", "64M". Tools that write GB here divide by 1024**3."""
    found = _SIZE.search(value)
    if not found:
        return None
    return int(float(found[1]) * _UNITS.get(found[2][0].lower(), 1))


def number(value: str) -> int | None:
    """The whole number at the start of the value."""
    found = re.match(r"\s*(-?\d{1,15})(?!\d)", value)
    return int(found[1]) if found else None


def amount(value: str) -> float | None:
    """The number at the start of the value, with or without a unit ("62W", "400.00 W")."""
    found = re.match(r"\s*(-?\d{1,15}(?:\.\d{1,9})?)", value)
    return float(found[1]) if found else None


def cuda_of(encoded: str) -> str:
    """CUDA version of the number that the driver interface reports: 12080 is 12.8."""
    number_ = int(encoded)
    return f"{number_ // 1000}.{number_ % 1000 // 10}"


def cuda_of_tag(tag: str) -> str | None:
    """CUDA of a tag or build string: "cu121", "cuda11.3", "cu92"; "" for a CPU build; None when it says neither."""
    found = re.search(r"(?<![a-z])cu(\d{2})(\d)(?!\d)", tag) or re.search(r"(?<![a-z])cu(\d)(\d)(?!\d)", tag)
    found = found or re.search(r"cuda_?(\d{1,2})\.?(\d)", tag)
    if found:
        return f"{found[1]}.{found[2]}"
    return "" if re.search(r"(?<![a-z])cpu(?![a-z])", tag) else None
