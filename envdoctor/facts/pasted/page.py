"""The lines of a report, and which of them a reader has already understood."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Page:
    """Plain lines, without their wrapping; readers take lines, and what nobody takes is a message or a remark."""

    lines: Sequence[str]
    taken: set[int] = field(default_factory=set)

    def left(self) -> Iterator[tuple[int, str]]:
        """Lines that nobody has taken yet, with their numbers, stripped and not empty."""
        for number, line in enumerate(self.lines):
            if number not in self.taken and (text := line.strip()):
                yield number, text

    def take(self, number: int) -> None:
        self.taken.add(number)

    def after(self, number: int) -> Iterator[tuple[int, str]]:
        """The stripped lines that follow ``number``, taken or not, empty ones too."""
        for following in range(number + 1, len(self.lines)):
            yield following, self.lines[following].strip()


_PAIR = re.compile(r"(?P<key>[^\s:=|][^:=|\n]{0,78}?)\s*(?:\.{2,}\s+|:\s+|:$|\s:\s?|=\s(?!=))(?P<value>.*)")


@functools.lru_cache(maxsize=20_000)
def pair(text: str) -> tuple[str, str] | None:
    """A ``key: value``, ``key ..... value`` or ``key : value`` line; None for anything else."""
    found = _PAIR.fullmatch(text)
    return (found["key"].strip(), found["value"].strip()) if found else None


@functools.lru_cache(maxsize=20_000)
def normal(key: str) -> str:
    """A key as tables know it: lower case, single spaces, without the question mark and brackets that versions of a
    tool add ("PyTorch version (GPU?)")."""
    return re.sub(r"[\s_]+", " ", re.sub(r"\s{0,40}\([^)]{0,80}\)|[?*\"']", "", key)).strip().lower()
