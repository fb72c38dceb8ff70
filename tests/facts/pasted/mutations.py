"""Real reports, mutated, and ramps: none may end in an exception, take a second, or 256 MB.

``python -m tests.facts.pasted.mutations --count 1000000 --seed 1 --processes 2 --record FILE`` reads and judges that
many. One in eight is a ramp: a report's own beginning of a line, led into a repetition. A line on stdout for each that
failed, with its seed to make it again (``--only SEED``), and at the end one JSON line with the counts. ``--record``
appends a line for each piece of the series as it ends, so that a series that is stopped has been counted as far as it
came, and ``--sum FILE`` adds such lines up. Exit code 1 when one failed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.facts import pasted
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from tests.facts.pasted.ramps import UNITS

ROOT = Path(__file__).resolve().parents[2]
PIECE = 1_000  # texts whose counts are written down together
SECONDS, MEMORY = 1.0, 256 * 2**20
RULES = load_rules()
REPORTS = [path.read_text("utf-8") for path in sorted((ROOT / "cases").glob("*.txt"))] + [
    part.partition("\n")[2] for part in (ROOT / "reports.txt").read_text("utf-8").split("\n=== ")
]
ODD = (
    "\x00",
    "\x1b[31m",
    "\u202e",
    "\ud800",
    "\u3000",
    "\u0661",
    "é",
    "<b>",
    "]]>",
    "::error::",
    "```",
    "| ",
    "NaN",
    "-1",
)


class TooLong(BaseException):
    """Not an `Exception`: nobody who guards against broken rules may swallow it."""


def mutated(seed: int) -> str:
    """The text of that seed, always the same."""
    draw = random.Random(seed)
    text = draw.choice(REPORTS)
    if seed % 8 == 0:
        return _ramp(text, draw)
    if len(text) > 20_000 and draw.random() < 0.9:  # a piece of a long one shows the same at a fraction of the time
        start = draw.randrange(len(text) - 4_000)
        text = text[start : start + 4_000]
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        text = _once(text or "\n", draw)
    return text


def _once(text: str, draw: random.Random) -> str:
    at, length = draw.randrange(len(text)), draw.choice((1, 1, 2, 8, 64, 512))
    end = min(len(text), at + length)
    match draw.randrange(8):
        case 0:
            return text[:at] + text[end:]
        case 1:
            return text[:at] + text[at:end] * draw.choice((2, 3, 30)) + text[end:]
        case 2:
            return text[:at] + draw.choice(ODD) + text[at:]
        case 3:
            return text[:at] + "".join(draw.choice(text) for _ in range(end - at)) + text[end:]
        case 4:
            return text[:at] + draw.choice(UNITS) * draw.choice((10, 100, 1_000)) + text[at:]
        case 5:
            lines = text.split("\n")
            draw.shuffle(lines)
            return "\n".join(lines)
        case 6:
            other = draw.choice(REPORTS)
            return text[:at] + other[: draw.randrange(len(other) + 1)][-2_000:]
        case _:
            return text.replace(draw.choice(text), draw.choice((*UNITS, *ODD, "")), draw.choice((1, 5, 100)))


def _ramp(text: str, draw: random.Random) -> str:
    """A line of a report, broken off anywhere, that goes on as a ramp; several of them now and then."""
    lines = [line for line in text.split("\n") if line.strip()] or ["torch"]
    made = []
    for _ in range(draw.choice((1, 1, 1, 5, 20))):
        line = draw.choice(lines)[:400]
        unit = draw.choice(UNITS) * draw.randint(1, 2) if draw.random() < 0.7 else line[-draw.randint(1, 6) :]
        size = draw.choice((30, 300, 3_000, 30_000))
        made.append(
            line[: draw.randint(0, len(line))] + unit * (size // len(unit)) + draw.choice(("", "!", "\x01", ")"))
        )
    return "\n".join([*draw.sample(lines, min(3, len(lines))), *made])


def judged(text: str) -> None:
    try:
        facts = pasted.read(text)
    except Trouble:
        return
    crashed = diagnose(facts, no_target(), RULES).crashed
    assert not crashed, crashed  # the doctor goes on without a rule that raises; here it is a failure


def failure(text: str) -> tuple[str | None, float]:
    """What went wrong with a text, if anything, and its seconds of processor time."""
    began = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, 10 * SECONDS)
    try:
        judged(text)
    except TooLong:
        return "did not come back", time.process_time() - began
    except Exception as error:  # noqa: BLE001 - any exception is what is looked for
        return f"{type(error).__name__}: {error}", time.process_time() - began
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    seconds = time.process_time() - began
    return (f"took {seconds:.2f} s" if seconds > SECONDS else None), seconds


def _peak() -> int:
    """Bytes held at most by this process. What getrusage says counts the parent that it was forked from too."""
    with open("/proc/self/status", encoding="ascii") as stream:
        held = next((line for line in stream if line.startswith("VmHWM:")), None)
    return int(held.split()[1]) * 1024 if held else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def series(first: int, count: int) -> dict[str, object]:
    """Judge that many texts; every failure is printed as it is found."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TooLong

    signal.signal(signal.SIGVTALRM, stop)
    judged(f"torch 2.11.0\nRuntimeError: {first} is no text of the series\n")  # what the first text reads once for all
    failures, slowest, began = 0, (0.0, first), time.monotonic()
    for seed in range(first, first + count):
        problem, seconds = failure(mutated(seed))
        slowest = max(slowest, (seconds, seed))
        if problem is not None:
            failures += 1
            print(f"seed {seed}: {problem}", flush=True)
    memory = _peak()
    return {
        "first": first,
        "count": count,
        "failures": failures,
        "slowest_seconds": round(slowest[0], 3),
        "slowest_seed": slowest[1],
        "peak_memory_mb": round(memory / 2**20),
        "memory_exceeded": memory > MEMORY,
        "seconds": round(time.monotonic() - began, 1),
    }


def _piece(first_and_count: tuple[int, int]) -> dict[str, object]:
    return series(*first_and_count)


def summed(pieces: Iterable[Mapping[str, Any]]) -> dict[str, object]:
    """The counts of several pieces as those of one series; pieces that begin at the same seed count once."""
    each = {piece["first"]: piece for piece in pieces}.values()
    slowest = max(each, key=lambda piece: float(piece["slowest_seconds"]))
    return {
        "first": min(piece["first"] for piece in each),
        "count": sum(piece["count"] for piece in each),
        "failures": sum(piece["failures"] for piece in each),
        "slowest_seconds": slowest["slowest_seconds"],
        "slowest_seed": slowest["slowest_seed"],
        "peak_memory_mb": max(piece["peak_memory_mb"] for piece in each),
        "memory_exceeded": any(piece["memory_exceeded"] for piece in each),
        "seconds": round(sum(piece["seconds"] for piece in each), 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--record", type=Path, help="append the counts of each piece to this file")
    parser.add_argument("--sum", type=Path, help="add up the pieces of such a file")
    parser.add_argument("--only", type=int, help="write the text of this seed to stdout")
    given = parser.parse_args()
    if given.only is not None:
        sys.stdout.buffer.write(mutated(given.only).encode("utf-8", "surrogatepass"))
        return 0
    if given.sum is not None:
        result = summed(json.loads(line) for line in given.sum.read_text("utf-8").splitlines())
    else:
        end = given.seed + given.count
        todo = [(first, min(PIECE, end - first)) for first in range(given.seed, end, PIECE)]
        done = []
        # Forked, so that nothing is imported or read twice; the patterns are compiled once for all.
        with get_context("fork").Pool(given.processes) as pool, open(given.record or os.devnull, "a") as record:
            for piece in pool.imap_unordered(_piece, todo):
                done.append(piece)
                print(json.dumps(piece), file=record, flush=True)
        result = summed(done)
    print(json.dumps(result), flush=True)
    return int(bool(result["failures"]) or bool(result["memory_exceeded"]))


if __name__ == "__main__":
    raise SystemExit(main())
