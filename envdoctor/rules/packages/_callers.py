"""Whose code raised an error: the reader of a report notes it behind the line, as the traceback has it."""

from envdoctor.knowledge.names import distribution_of
from envdoctor.knowledge.questions import normal
from envdoctor.rules.rule import Pattern

CALLER = Pattern(r" \[raised in (?P<name>[\w.-]{1,60})\]$")


_OTHER_NAMES = {"swift": "ms-swift", "flashinfer": "flashinfer-python", "sgl_kernel": "sgl-kernel"}
"""Modules that no table of missing ones has, since their name is a package of somebody else's, too."""
_LAZY = Pattern(r"\bFailed to import (?P<name>[a-z_]\w{1,40})\.[\w.]{1,120} because")
"""transformers, trl and diffusers import their parts when they are asked for, and say of which part they speak."""


def caller_of(line: str) -> str | None:
    """The distribution, as far as its module tells its name."""
    found = CALLER.search(line) or _LAZY.search(line)
    if found is None:
        return None
    return normal(_OTHER_NAMES.get(found["name"], "") or distribution_of(found["name"]) or found["name"])
