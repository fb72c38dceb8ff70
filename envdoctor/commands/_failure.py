"""What went wrong, as JSON: what programs read in place of the answer that they asked for."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import click

Kind = Literal["usage", "input", "unknown", "interrupted", "internal"]
"""usage: the command line; input: what it names; unknown: not examined, changed or judged; internal: a bug of ours."""

OTHERS = ("run", "train", "mcp")  # what stands behind these words is another program's, or another protocol's


def wants_json(words: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, as far as it can be read: it may be what is wrong."""
    if words[:1] and words[0] in OTHERS:
        return False
    own = words[: words.index("--")] if "--" in words else words
    return "--format=json" in own or ("--format", "json") in pairwise(own)


def document(
    kind: Kind, message: str, code: int, *, file: str | None = None, where: str = "", remedy: str = ""
) -> dict[str, Any]:
    """``schemas/error.json``; ``where`` and ``remedy`` are null where there is nothing to say."""
    told = {"kind": kind, "message": message, "file": file, "where": where or None, "remedy": remedy or None}
    return {"schema": 1, "error": {**told, "exit_code": code}}


_answered = threading.Event()


def stdout_taken() -> None:
    """Standard output has its one document, or another process of the job gives it: what goes wrong from now on is
    told on stderr alone."""
    _answered.set()


def tell(found: dict[str, Any]) -> None:
    """On stdout, where the answer would be. ASCII alone: whatever a path or a message holds, this can be written.

    Standard output may be what is broken (a full disk, a reader that left); then what stderr says has to do.
    """
    if _answered.is_set():
        return
    with contextlib.suppress(OSError):
        click.echo(json.dumps(found, indent=1))
        sys.stdout.flush()
