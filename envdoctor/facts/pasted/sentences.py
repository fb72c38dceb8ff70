"""Which lines of a report are a person's own sentences, and not a program's, a listing's or code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.page import normal, pair
from envdoctor.values.pattern import Pattern

_LONGEST = 600
_SENTENCE = Pattern(
    r"[#>*\s-]{0,8}(?:title: ?)?(?:[^\W\d_]['\w`./()\[\]+-]*|\d[\w-]* [a-z]\w*)(?:[,;:]? [^\s|]{1,60}){2,}"
    r"|.{0,40}[\u4e00-\u9fff]{4}",
    re.IGNORECASE,
)
"""At least three words, and no row of a table."""
_CODE = Pattern(
    r"^\s*(?:>>>|\$ |(?:from|import|def|class|return|with|for|if|print|pip|conda|python3?)\b.{0,80}[=(:]|#!)|[{};]\s*$"
)
_PROGRAM = Pattern(
    r"\b(?:[A-Z]\w{2,60}(?:Error|Exception|Warning)|[Ee]rror|ERROR|WARNING|[Ff]atal|FATAL) ?: \S|^\[|^\S{1,80}:\d{1,5}:"
    r"|^(?:size mismatch for|copying a param|(?:Missing|Unexpected) key)"
)
_ASKS = Pattern(
    r"[#>*\s-]{0,8}(?:title: ?|question: ?)?(?:is|are|does|do|did|can|could|how|which|what|where|should|has|have|any)\b"
    r"(?!.{0,20}\b(?:wrong|reason|come|normal)\b).*\?",
    re.IGNORECASE,
)
"""What is asked, and no complaint."""


_OPTION = Pattern(r"--?[A-Za-z][\w-]{0,60}(?:[= ]|$)")
_BEFORE = Pattern(r"[A-Z][A-Z\d_]{2,40}=|(?:[$%]|sudo|nohup|srun|exec)$")
_STARTERS = Pattern(r"(?:python[\d.]{0,5}|torchrun|deepspeed|accelerate|bash|sh|llamafactory-cli|swift)$")


_TELLS = frozenset("is does hang hangs stuck freezes crashes fails with when the".split())
"""Words of a sentence, which no command has among its parts."""


def is_command(line: str) -> bool:
    """Is it a shell's: a command that ends with an option, or one option of a command that goes over several lines?"""
    parts = line.split()
    if not _TELLS.isdisjoint(parts):
        return False
    if parts and _OPTION.match(line.strip()):
        return parts[-1] == "\\" or (parts[0].startswith("--") and len(parts) <= 3)
    parts = parts[:-1] if parts and parts[-1] == "\\" else parts
    start = next((word for word in parts[:9] if not _BEFORE.match(word)), "")
    return _STARTERS.match(start) is not None and any(_OPTION.match(word) for word in parts[-2:])


def own(lines: Sequence[str]) -> Iterator[str]:
    """A person's sentences that tell something, in their order."""
    for line in lines:
        if _is_own(line):
            yield from (one for one in re.split(r"(?<=[.!?]) +(?=[A-Z`'\"])", line) if not _ASKS.match(one))


def headings(lines: Sequence[str]) -> Iterator[str]:
    """The first line, and those that are marked as a heading."""
    return (line for number, line in enumerate(lines) if (number == 0 or line.startswith("#")) and _is_own(line))


def _is_own(line: str) -> bool:
    if (
        len(line) > _LONGEST
        or is_command(line)
        or _SENTENCE.match(line) is None
        or _CODE.search(line)
        or _PROGRAM.search(line)
    ):
        return False
    found = pair(line)
    if found is None or normal(found[0]) == "title":
        return True
    return len(found[1].split()) > 2 and not words.is_unknown(found[1])  # "Is CUDA available: False"
