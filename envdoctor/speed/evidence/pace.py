"""The machine's own pace: far below its usual one throughout, nothing can be judged; in part, processes go aside."""

from __future__ import annotations

import math
from collections.abc import Iterator

from envdoctor.locks.target import Baseline
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.pace_model import AtOnePace, at_one_pace
from envdoctor.speed.evidence.relation import Relation
from envdoctor.speed.evidence.run import Context, TimedRun
from envdoctor.speed.report import Report


def pace(run: TimedRun, baseline: Baseline | None, context: Context) -> Iterator[Evidence]:
    """Processes set aside; or that none had its machine to itself."""
    if context.pace is None:
        return
    if not context.pace.processes:
        slow = math.exp(context.pace.pace)
        text = f"the machine gave {slow:.2f}x its usual pace throughout: a busy neighbour or a CPU limit"
        plain = "a busy neighbour or a CPU limit slows this machine down"
        yield Evidence(cause="contention", text=text, blocks="unstable", plain=plain)
    elif context.pace.aside:
        text = (
            f"set aside: {context.pace.aside} of {len(run.timed)} processes, for the machine's pace was far below usual"
        )
        yield Evidence(cause=None, text=text)


def pace_of(reports: tuple[Report, ...], baseline: Baseline, relation: Relation) -> AtOnePace | None:
    """The machine's pace, where it can be told from what is looked for.

    Its work runs through torch, with its threads and in its number format: with others, a slower pace would excuse
    the very fault.
    """
    if not relation.probes_comparable or relation.match == "other-model":
        return None
    if any(report.precision != baseline.conditions.get("precision") for report in reports):
        return None
    return at_one_pace(reports, baseline)
