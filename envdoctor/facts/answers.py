"""What probes answer: in files, so that whatever a probe prints does no harm."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

SIZE_LIMIT = 64 * 1024 * 1024  # bytes of one answer; 1,000 packages make 1 MB


_ODD = re.compile(rb"\\[^\"\\/nt]|[^\x20-\x7e]")
"""Only through an escape can a text that a probe writes (in ASCII) have a control character."""


def read(path: Path) -> list[dict[str, Any]]:
    """The answer of a probe, as far as it got: whole lines of JSON objects."""
    try:
        with path.open("rb") as stream:
            data = stream.read(SIZE_LIMIT)
    except OSError:
        return []
    found = []
    for line in data.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(line)
            if isinstance(value, dict):
                found.append(clean(value) if _ODD.search(line) else value)
    return found


def clean(value: Any) -> Any:
    """A JSON value without control characters in its texts, which come from files that anybody may write."""
    from envdoctor.facts.scrub import printable  # not needed yet when the probes are started

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return printable(value, keep_lines=True)
        if isinstance(value, dict):
            return {walk(key): walk(member) for key, member in value.items()}
        return [walk(member) for member in value] if isinstance(value, list) else value

    return walk(value)
