"""Pair training: our gritlm task against sentence-transformers' trainer, and against its own preset `before`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from trainer.data.workloads import find

from tests.benchmarks import corpora, peers, peertables
from tests.benchmarks.turns import Side, interleave

PAIRS_PER_BATCH = 32


def compared(python: str, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Sides, figures and raw slices; prints its table."""
    size = peers.SIZES[given.pairs_size]
    shared = folder / "pairs" / "shared"
    shared.mkdir(parents=True)
    peers.prepare(python, size, shared)
    ours, theirs = pair_files(find(size.workload).data, shared)
    common = {"threads": given.threads, "warmup_steps": 2, "seconds": given.seconds or size.seconds}
    measured = [
        _grit("ours", "default", python, common, shared, ours),
        _grit("ours as before", "before", python, common, shared, ours),
        *(_st(name, loss, python, common, shared, theirs) for name, loss in LOSSES.items()),
    ]
    print("\npairs (%s, %d per batch)" % (size.workload, PAIRS_PER_BATCH))
    interleave(measured, given.rounds or size.rounds, peers.say_slice)
    for side in measured:
        for piece in side.slices:  # a batch holds this many queries on every side, but for the last of an epoch
            piece.setdefault("pairs", piece["documents"] / 3 if "documents" in piece else 0.0)
    found = peertables.sides(measured, "pairs")
    print("\n".join(peertables.table(measured, found, "pairs")), flush=True)
    first = {side.name: side.facts["losses"][0] for side in measured}
    print("first losses: " + ", ".join("%s %.3f" % item for item in first.items()), flush=True)
    return found


LOSSES = {"ST in-batch": "in-batch", "ST cached": "cached"}


def pair_files(chats: Path, folder: Path) -> list[Path]:
    """The same queries, answers and one hard negative each, for our task and as plain columns."""
    rows = corpora._pairs([json.loads(line)["messages"] for line in chats.read_text(encoding="utf-8").splitlines()])
    ours, theirs = folder / "pairs.jsonl", folder / "columns.jsonl"
    plain = [
        {"query": row["query"][1], "positives": row["positives"], "negatives": row["negatives"][:1]} for row in rows
    ]
    corpora._lines(ours, plain)
    corpora._lines(
        theirs,
        [
            {
                "anchor": row["query"],
                "positive": row["positives"][0],
                "negative": row["negatives"][0],
            }
            for row in plain
        ],
    )
    return [ours, theirs]


def _grit(name: str, preset: str, python: str, common: dict[str, Any], shared: Path, data: Path) -> Side:
    own = shared.parent / name.replace(" ", "-")
    settings = {
        "model": str(shared / "model"), "data": [str(data)], "tokens_per_row": peers.TOKENS_PER_ROW,
        "generative_weight": 0.0, "embed_mark": "", "pairs_per_batch": PAIRS_PER_BATCH, "output": str(own / "run"),
        "cache": str(own / "cache"), "threads": common["threads"], **peers.OURS,
    }  # fmt: skip
    order = {**common, "task": "gritlm", "preset": preset, "settings": settings}
    return Side(name, python, "tests.benchmarks.side_ours", order, own)


def _st(name: str, loss: str, python: str, common: dict[str, Any], shared: Path, data: Path) -> Side:
    order = {
        **common, "model": str(shared / "model"), "pairs": str(data), "loss": loss, "optimizer": peers.OPTIMIZER,
        "pairs_per_batch": PAIRS_PER_BATCH, "tokens_per_row": peers.TOKENS_PER_ROW,
    }  # fmt: skip
    return Side(name, python, "tests.benchmarks.side_st", order, shared.parent / name.replace(" ", "-"))
