"""Programs for pictures and models whose own options advice names: which of them a text is about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.values.pattern import Pattern

TOOLS = {
    "A1111": Pattern(
        r"\ba1111\b|automatic1111|stable[-_ ]diffusion[-_ ]webui|\bsd[-_ ]?webui\b"
        r"|\bforge\b",
        re.IGNORECASE,
    ),
    "web UIs": Pattern(
        r"\bweb[-_ ]?uis?\b|\ba1111\b|automatic1111|\bforge\b|\bfooocus\b"
        r"|\binvokeai\b",
        re.IGNORECASE,
    ),
    "ComfyUI": Pattern(r"\bcomfy", re.IGNORECASE),
    "diffusers": Pattern(r"\bdiffusers\b|[A-Za-z]Pipeline\b|\bpipe\(|from_pretrained", re.IGNORECASE),
    "kohya": Pattern(r"\bkohya|\bsd-scripts\b|\bmusubi", re.IGNORECASE),
}
"""As advice calls them, and their traces in a text."""
_SCRIPT = Pattern(
    r"(?<![\w/\\.-])(?:python3? )?(?:\w[\w-]{1,40}/){0,3}(?!main\.py|launch\.py|webui\.py"
    r"|setup\.py)\w[\w-]{1,40}\.py\b"
)
"""A script that is none of theirs, where none of them is named."""
OWN = "a script"
TOLD = "tools"  # the remark of a text's facts that holds the names


def tools_in(text: str) -> Iterator[str]:
    """The names of those that a text is about; ``OWN`` where it is about a script of another project."""
    named = [name for name, traces in TOOLS.items() if traces.search(text)]
    yield from named
    if not named and _SCRIPT.search(text):
        yield OWN
