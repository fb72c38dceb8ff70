"""Two arms in pairs of runs, A B B A B A A B: how they compare, and when that is decided.

One pair is one observation, the difference of two neighbouring runs: what the machine does from hour to hour cancels
out. After some numbers of pairs (`LOOKS`) the interval is looked at; the looks share the chance of a false word, so
that looking early costs nothing but width.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from envdoctor.speed.ablation.ablation import useful_rate
from envdoctor.speed.decision import COARSEST, LEAST_EFFECT, LEAST_TOLERANCE, Word
from envdoctor.speed.distributions import t_quantile
from envdoctor.speed.report import Report
from envdoctor.speed.statistics import RUN_SPREAD_FLOOR, Comparison, comparison_of

LOOKS = (4, 6, 8, 12, 16, 24, 32)
"""Numbers of pairs after which it may be decided; 32 of a short workload take ten minutes."""
ALPHA = 0.001
"""Chance, over all looks together, of calling equal arms slower (and as much of calling them faster). A tenth of what a
verdict against a baseline allows itself: whoever compares two environments of his own does so often."""
MISS = 0.01
"""Chance, over all looks together, of calling arms as expected of which one is slower than tolerated. Wider than
`ALPHA`: nobody is sent after a slow-down that is none, and how large a one would have shown is said beside the word."""
PAIR_SPREAD_FLOOR = RUN_SPREAD_FLOOR * math.sqrt(2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """``word`` is None while the interval allows two and pairs are left. ``resolution``: the slow-down (0.2: 20 %) from
    which on it would have shown."""

    word: Word | None
    comparison: Comparison
    resolution: float


def log_ratios(ours: Sequence[Report], theirs: Sequence[Report]) -> tuple[float, ...]:
    """Log of useful speed over useful speed, pair by pair. Raises ValueError for a run without timed windows."""
    found = []
    for one, other in zip(ours, theirs, strict=True):
        rate, against = useful_rate(one), useful_rate(other)
        if rate is None or against is None:
            raise ValueError("a run of a pair was not timed")
        found.append(math.log(rate / against))
    return tuple(found)


def compare_pairs(ratios: Sequence[float], *, looks: int = len(LOOKS)) -> Comparison:
    """The paired t interval at one look's share of ``ALPHA``. Raises ValueError for fewer than two pairs."""
    if len(ratios) < 2:
        raise ValueError("one difference has no error")
    spread = max(statistics.stdev(ratios), PAIR_SPREAD_FLOOR)
    error, df = spread / math.sqrt(len(ratios)), len(ratios) - 1
    return comparison_of(
        statistics.fmean(ratios), error, df, ALPHA, looks, LEAST_EFFECT,
        run_spread=spread / math.sqrt(2.0), processes=len(ratios),
    )  # fmt: skip


def decide_pairs(ratios: Sequence[float], *, most: int | None = None, at: Sequence[int] = LOOKS) -> Decision | None:
    """The word after these pairs; None where this is no moment to look. ``most``: pairs after which it ends (None:
    the last of ``at``, the numbers of pairs after which it is looked at).

    Undecided in the end is as expected as far as could be seen; unstable where even a halving could be meant.
    """
    most = at[-1] if most is None else most
    last = len(ratios) >= most
    if len(ratios) < 2 or (len(ratios) not in at and not last):
        return None
    looks = sum(1 for look in at if look < most) + 1
    found = compare_pairs(ratios, looks=looks)
    low, high = found.interval
    least = math.log(found.ratio) - t_quantile(1.0 - MISS / looks, found.df) * found.error
    resolution = max(found.detectable, 1.0 - low)
    word: Word | None = None
    if high < 1.0 and math.log(found.ratio) < -LEAST_EFFECT:
        word = "slower"
    elif low > 1.0 and math.log(found.ratio) > LEAST_EFFECT:
        word = "faster"
    elif least > -LEAST_TOLERANCE:
        word = "as-expected"
    elif last:
        word = "as-expected" if resolution <= COARSEST else "unstable"
    return Decision(word=word, comparison=found, resolution=resolution)
