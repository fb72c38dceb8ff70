"""Real pairs of `verify --against`, one arm slowed by a known amount or neither, window by window: recorded, replayed.

    python -m tests.speed.series.against --slow 0.1 --minutes 4     # one trial until decided, or until the time is over
    python -m tests.speed.series.against --replay                   # what all recorded pairs decide, resampled

A slowed arm sleeps after every step for that share of it, so that it is 1 / (1 + share) as fast.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from envdoctor.facts.environment import locate
from envdoctor.launch.trainer import new_run_folder
from envdoctor.locks.library import load_targets
from envdoctor.speed.ablation import side_by_side
from envdoctor.speed.ablation.interleaving import Variant
from envdoctor.speed.ablation.pairs import decide_pairs
from envdoctor.speed.report import Report, Window
from envdoctor.speed.timing import ignore_progress, run_variant
from tests.speed.making import cpu_report
from tests.speed.series.conditions import slowed

RECORD = Path(__file__).parents[1] / "recorded" / "against.jsonl"
SETTINGS = {"tokens_per_row": 128, "over_long": "skip", "threads": 1}
MEASURE = side_by_side.MEASURE


def trial(slow: float, minutes: float, record: Path) -> str:
    """Pairs until decided; the word, or "time is over". Every pair is appended to ``record`` at once."""
    environment, target = locate(Path(sys.prefix)), load_targets()["cpu"]
    slowing = slowed(step=slow) if slow else {}

    def run(number: int, turns: str) -> Report:
        given = {**(slowing if number == 0 else {}), **({side_by_side.VARIABLE: turns} if turns else {})}
        variant = Variant(name=str(number), settings=SETTINGS, variables=given)
        folder = Path(tempfile.mkdtemp(prefix="against-", dir=new_run_folder("against")))
        return run_variant(environment, target, "chat-5m", MEASURE, variant, folder=folder, on_line=ignore_progress)

    begun, ratios = time.monotonic(), list[float]()
    label = f"{time.time():.0f}"
    for pair in range(side_by_side.LOOKS[-1]):
        order = (0, 1) if pair.bit_count() % 2 == 0 else (1, 0)
        ours, theirs = side_by_side.run_together(run, order)
        ratios.append(side_by_side.log_ratio(ours, theirs, ours_first=order == (0, 1)))
        row = {
            "trial": label, "slow": slow, "ours_first": order == (0, 1), "seconds": time.monotonic() - begun,
            "ours": _plain(ours), "theirs": _plain(theirs), "log_ratio": ratios[-1],
        }  # fmt: skip
        with record.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
        print(f"{row['seconds']:6.0f} s  pair {pair + 1}: {math.exp(ratios[-1]):.4f}", flush=True)
        found = decide_pairs(ratios, at=side_by_side.LOOKS)
        if found is not None and found.word is not None:
            low, high = found.comparison.interval
            return f"{found.word}: {found.comparison.ratio:.3f} [{low:.3f}, {high:.3f}] after {pair + 1} pairs"
        if time.monotonic() - begun > 60 * minutes:
            return f"time is over after {pair + 1} pairs"
    raise AssertionError("the last look always has a word")


def _plain(report: Report) -> list[list[float]]:
    return [[round(w.seconds, 5), w.tokens["real"], w.tokens["trained"]] for w in report.windows]


def recorded(path: Path) -> list[dict[str, Any]]:
    """All pairs, in their order."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def report_of(rows: Sequence[Sequence[float]]) -> Report:
    """A report with these windows: seconds, real tokens, trained ones."""
    windows = tuple(Window(steps=1, seconds=s, tokens={"real": real, "trained": trained}) for s, real, trained in rows)
    return cpu_report(windows=windows)


def ratios_of(rows: Sequence[dict[str, Any]], *, together: bool = True) -> list[float]:
    """Log ratios of recorded pairs without what one arm was slowed by. ``together``: window by window; else as the
    medians of both would say, which is what runs without turns come to at best."""
    of = _ratio if together else _ratio_of_medians
    return [of(row) + math.log1p(row["slow"]) for row in rows]


def _ratio(row: dict[str, Any]) -> float:
    """As it was timed, slowed arm included."""
    return side_by_side.log_ratio(report_of(row["ours"]), report_of(row["theirs"]), ours_first=row["ours_first"])


def _ratio_of_medians(row: dict[str, Any]) -> float:
    return math.log(_middle(row["ours"]) / _middle(row["theirs"]))


def _middle(rows: Sequence[Sequence[float]]) -> float:
    return statistics.median(real / seconds for seconds, real, _ in rows)


def trials_of(rows: Sequence[dict[str, Any]]) -> list[tuple[float, str, int, float]]:
    """Of each recorded trial that came to its end: what one arm was slowed by, the word, pairs and seconds."""
    found = []
    for label in dict.fromkeys(row["trial"] for row in rows):
        own = [row for row in rows if row["trial"] == label]
        decision = decide_pairs([_ratio(row) for row in own], at=side_by_side.LOOKS)
        if decision is not None and decision.word is not None:
            found.append((own[0]["slow"], decision.word, len(own), own[-1]["seconds"]))
    return found


def resampled(ratios: Sequence[float], effect: float, trials: int, seed: int) -> list[tuple[str, int]]:
    """Word and number of pairs of trials whose pairs are drawn from recorded ones, around ``effect``."""
    rng, found = random.Random(seed), []
    centre = statistics.fmean(ratios)
    for _ in range(trials):
        drawn: list[float] = []
        while True:
            drawn.append(rng.choice(ratios) - centre + effect)
            decision = decide_pairs(drawn, at=side_by_side.LOOKS)
            if decision is not None and decision.word is not None:
                found.append((decision.word, len(drawn)))
                break
    return found


def told(rows: Sequence[dict[str, Any]]) -> str:
    """What is recorded, and what its pairs would decide."""
    ratios = ratios_of(rows)
    apart = ratios_of(rows, together=False)
    lines = [
        f"{len(rows)} real pairs, {sum(row['slow'] > 0 for row in rows)} of them with an arm slowed by a known amount",
        f"spread of a pair: {statistics.stdev(ratios):.3f} (log) window by window, {statistics.stdev(apart):.3f} by "
        f"medians; bias {statistics.fmean(ratios):+.4f}",
    ]
    for name, slowed_ones in (("equal", False), ("0.9x", True)):
        ended = [trial for trial in trials_of(rows) if (trial[0] > 0) == slowed_ones]
        if ended:
            words = ", ".join(f"{count} {word}" for word, count in sorted(Counter(t[1] for t in ended).items()))
            pairs = statistics.median(trial[2] for trial in ended)
            seconds = [trial[3] for trial in ended]
            taken = f"{pairs:.0f} pairs, {statistics.median(seconds):.0f} s in the middle, {max(seconds):.0f} s at most"
            lines.append(f"{name}, {len(ended)} real trials: {words}; {taken}")
    for name, effect in (("equal", 0.0), ("0.9x", math.log(0.9))):
        drawn = resampled(ratios, effect, 600, 3)
        slower = [count for word, count in drawn if word == "slower"]
        middle = f", after {statistics.median(slower):.0f} pairs in the middle" if slower else ""
        lines.append(f"{name}: slower in {len(slower) / len(drawn):.1%} of 600 trials drawn from them{middle}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.speed.series.against", description=__doc__)
    parser.add_argument("--slow", type=float, default=0.0)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--replay", action="store_true")
    given = parser.parse_args()
    if not given.replay:
        print(trial(given.slow, given.minutes, given.record), flush=True)
    if given.replay and given.record.exists():
        print(told(recorded(given.record)))


if __name__ == "__main__":
    main()
