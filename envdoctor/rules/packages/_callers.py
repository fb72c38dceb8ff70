"""Whose code raised an error: the reader of a report notes it behind the line, as the traceback has it."""

from envdoctor.knowledge.requirements import normal
from envdoctor.values.pattern import Pattern

CALLER = Pattern(r" \[raised in (?P<name>[\w.-]{1,60})\]$")


def caller_of(line: str) -> str | None:
    """The distribution, as far as its module tells its name."""
    found = CALLER.search(line)
    return normal(found["name"]) if found else None
