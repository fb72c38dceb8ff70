"""What a command that was given something odd may say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.change.bench import Bench

ODD = "\x1b]0;taken\x07\x1b[31m\u202e[red]x[/red]<script>alert(1)</script>\r::error::taken"
SECONDS = 90.0
ROOT = Path(__file__).parents[3]


def clean(b: Bench, what: str, said: str) -> None:
    """Nothing in it steers a terminal, a page or a pipeline."""
    steering = [c for c in said if (ord(c) < 32 and c not in "\n\t") or ord(c) == 127 or c in "\u202e\u2066\u2028"]
    b.expect(not steering, f"{what}: control characters {sorted(set(steering))}")
    b.expect(not any(line.lstrip().startswith("::error::taken") for line in said.splitlines()), f"{what}: annotation")


def told(b: Bench, words: Sequence[str], codes: Sequence[int], what: str, **options: Any) -> str:
    """The command's output, held to its exit codes and to `clean`."""
    done = b.run(list(words), codes=set(codes), **options)
    clean(b, what, done.stdout + done.stderr)
    return str(done.stdout + done.stderr)


def plain(b: Bench, *more: str) -> list[str]:
    return ["check", "--no-torch", "--env", str(b.world.environment), *more]
