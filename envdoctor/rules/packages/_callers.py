"""Whose code raised an error: the reader of a report notes it behind the line, as the traceback has it."""

from envdoctor.knowledge.questions import normal
from envdoctor.rules.rule import Pattern

CALLER = Pattern(r" \[raised in (?P<name>[\w.-]{1,60})\]$")


_LAZY = Pattern(r"\bFailed to import (?P<name>[a-z_]\w{1,40})\.[\w.]{1,120} because")
"""transformers, trl and diffusers import their parts when they are asked for, and say of which part they speak."""


def caller_of(line: str) -> str | None:
    """The distribution, as far as its module tells its name."""
    found = CALLER.search(line) or _LAZY.search(line)
    return normal(found["name"]) if found else None
