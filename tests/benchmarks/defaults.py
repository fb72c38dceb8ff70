"""Why this trainer is as many times as fast as transformers' Trainer as it comes, and how many times it could be.

    python -m tests.benchmarks.defaults RECORD ...    # of `tests.benchmarks.peers`

Nothing is timed here: a record holds each side's tokens, token slots and seconds. Arithmetic is counted by the formula
of `trainer.compute.flops`, which is what the loss needs; the Trainer does more: padding, every slot's logits, attention
over whole squares. So the ratio of the two speeds, of useful arithmetic a second, is a product of four without a rest:

    (padded arithmetic / unpadded) x (unpadded arithmetic / what the loss needs)
    x (best product's pace in our precision / in float32) x (share of its pace that we reach / that the Trainer reaches)
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Slices = Sequence[Mapping[str, float]]
SIDE, AIM = "HF defaults", 8.0


def _total(slices: Slices, name: str) -> float:
    return float(sum(piece[name] for piece in slices))


def cells(slices: Slices) -> float:
    """Squares of the padded rows, added up: as counted, or in older records the least they can be: one length."""
    return float(sum(piece.get("cells", piece["slots"] ** 2 / piece["documents"]) for piece in slices))


def factors(size: Mapping[str, Any]) -> dict[str, float]:
    """Of one size of a record: the four factors, the ratio they make ("times"), how many slots there are for a token,
    what share of the best product's pace each side reaches in its own precision (the Trainer with all that it
    computes), and the share that we would need to be AIM times as fast.
    """
    ours, theirs = size["raw"]["ours"], size["raw"][SIDE]["slices"]
    token, trained, square = ours["work"]
    mine, best = ours["slices"], size["achievable"]
    pace = (
        token * _total(mine, "real") + trained * _total(mine, "trained") + square * _total(mine, "squares")
    ) / _total(mine, "wall")
    real, slots = _total(theirs, "real"), _total(theirs, "slots")
    needed = token * real + trained * _total(theirs, "trained") + square * _total(theirs, "squares")
    unpadded = (token + trained) * real + 2 * square * _total(
        theirs, "squares"
    )  # the formula's square is its causal half
    padded = (token + trained) * slots + 2 * square * cells(theirs)
    wall = _total(theirs, "wall")
    shares = pace / best[size["precision"]], padded / wall / best["float32"]
    return {
        "padding": padded / unpadded, "logits and squares": unpadded / needed,
        "precision": best[size["precision"]] / best["float32"], "pace": shares[0] / shares[1],
        "times": pace * wall / needed, "slots per token": slots / real, "our share": shares[0],
        "their share": shares[1], "asked share": AIM * needed / wall / best[size["precision"]],
    }  # fmt: skip


def table(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Markdown: a line for each size of each record that timed the defaults."""
    head = (
        "of", "padding", "logits, squares", "precision", "pace", "= times", "our share of the best product",
        f"share asked by {AIM:g} times",
    )  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for record, found in records.items():
        for name, size in found["sizes"].items():
            if SIDE not in size["raw"]:
                continue
            of = factors(size)
            four = (of["padding"], of["logits and squares"], of["precision"], of["pace"], of["times"])
            cut = [f"{value:.2f}" for value in four] + [f"{of['our share']:.0%}", f"{of['asked share']:.0%}"]
            lines.append(f"| {record}, {name} | {' | '.join(cut)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", nargs="+", type=Path)
    given = parser.parse_args()
    print(table({path.stem: json.loads(path.read_text("utf-8")) for path in given.records}))


if __name__ == "__main__":
    main()
