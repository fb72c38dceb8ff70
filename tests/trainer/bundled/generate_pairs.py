"""Writes pairs.jsonl and texts.jsonl from chat.jsonl: a question with its answer and another's, and plain texts."""

from __future__ import annotations

import json
from pathlib import Path

from trainer.data.workloads import DATA

PAIRS, TEXTS = 96, 80


def rows() -> list[list[dict[str, str]]]:
    """The turns of each chat."""
    return [json.loads(line)["messages"] for line in (DATA / "chat.jsonl").read_text(encoding="utf-8").splitlines()]


def first_words(turns: list[dict[str, str]], role: str) -> str:
    """The first thing that `role` says, at most 300 characters of it."""
    return next(turn["content"] for turn in turns if turn["role"] == role)[:300]


def pairs() -> list[dict[str, object]]:
    """Queries with the passage that answers, and one that does not."""
    chats = rows()
    return [
        {
            "query": first_words(chats[n], "user"),
            "positives": [first_words(chats[n], "assistant")],
            "negatives": [first_words(chats[-1 - n], "assistant")],
        }
        for n in range(PAIRS)
    ]


def texts() -> list[dict[str, object]]:
    """Everything that is said in a chat, as one text."""
    return [{"text": "\n".join(turn["content"] for turn in turns)} for turns in rows()[:TEXTS]]


def write(folder: Path) -> None:
    """Write both files into `folder`."""
    for name, found in (("pairs.jsonl", pairs()), ("texts.jsonl", texts())):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(DATA)
