"""Writes sums.jsonl and sums-lessons.jsonl: one-digit additions, to be answered and to be learnt first.

    python -m tests.trainer.bundled.generate_sums

A model with random weights answers nothing right, so rejection fine-tuning has nothing to keep. The lessons (worked
additions, some of them wrong) bring a small model to where it answers some; the prompts then are all 100 additions,
each with its answer. Both are drawn with a fixed seed and can be written again to the byte.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from trainer.data.workloads import DATA

LESSONS = 600
WRONG = 0.25  # of the lessons, so that sampled answers differ and the checker has something to reject


def prompts() -> list[dict[str, object]]:
    """All additions of two digits."""
    return [{"prompt": f"{a} + {b} =", "answer": a + b} for a in range(10) for b in range(10)]


def lessons() -> list[dict[str, object]]:
    """Additions with the answers of an unreliable pupil."""
    draw = random.Random(20)
    rows: list[dict[str, object]] = []
    for _ in range(LESSONS):
        a, b = draw.randrange(10), draw.randrange(10)
        slip = draw.choice((-2, -1, 1, 2)) if draw.random() < WRONG else 0
        rows.append({"prompt": f"{a} + {b} =", "completion": f" {abs(a + b + slip)}"})
    return rows


def write(folder: Path) -> None:
    """Write both files into `folder`."""
    for name, rows in (("sums.jsonl", prompts()), ("sums-lessons.jsonl", lessons())):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    write(DATA)
