"""Is this machine like the baseline's, by probes or pace? What it is worth is taken off, and its doubt counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envdoctor.locks.target import Baseline
from envdoctor.speed.evidence import machine
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.machine import MachineSpeed
from envdoctor.speed.evidence.pace_model import AtOnePace
from envdoctor.speed.evidence.relation import Relation, shares_of
from envdoctor.speed.evidence.run import Context, TimedRun
from envdoctor.speed.report import Report

USUAL_RANGE = {"cpu": 0.25, "cuda": 0.16}
"""Log range of machines of one model: SC22 saw GPUs at most 22 % apart, so 16 % from the middle is no longer chance."""
TRANSFER_LIMIT = 0.15
"""Log-sd of the machine factor beyond which comparing two machines says nothing."""


def machine_fit(run: TimedRun, baseline: Baseline | None, context: Context) -> Iterator[Evidence]:
    """The machine's speed relative to the baseline's, and whether that can be believed."""
    found, relation = context.machine, context.relation
    if found is None or relation is None or baseline is None:
        return
    if not found.known and relation.match == "other-model":
        text = f"the baseline is of {baseline.gpu or 'another machine'}, and no common probes tell how the two compare"
        yield Evidence(cause="machine", text=text, blocks="not-comparable")
        return
    yield from _doubtful(found, relation, run.timed[0].device.type)
    yield Evidence(cause="machine", text=_taken_off(found), log_effect=found.log_factor, log_sd=found.spread)


def _doubtful(found: MachineSpeed, relation: Relation, device: str) -> Iterator[Evidence]:
    other = relation.match == "other-model"
    if found.spread > TRANSFER_LIMIT:
        ratios = ", ".join(f"{name} {ratio:.2f}x" for name, ratio in sorted(found.ratios.items()))
        text = f"the probes do not agree on how fast this machine is, relative to the baseline's: {ratios}"
        plain = "this machine is too unlike the one that the baseline was measured on"
        yield Evidence(cause="machine", text=text, blocks="not-comparable", plain=plain)
    elif device == "cpu" and not other and abs(found.log_factor) > USUAL_RANGE["cpu"]:
        text = f"{found.sentence}, though of the same model: a busy neighbour or a CPU limit, not the environment"
        plain = "a busy neighbour or a CPU limit changes this machine's speed"
        yield Evidence(cause="machine", text=text, blocks="not-comparable", plain=plain)
    # On a CPU neighbours do this, and more of it blocks a verdict; on a rented GPU it is a finding.
    if device != "cpu" and not other and found.log_factor < -USUAL_RANGE["cuda"]:
        yield Evidence(cause="machine", text=f"{found.sentence}: chips of one model differ by less", blocks="slower")


def _taken_off(found: MachineSpeed) -> str:
    """The sentence with the probe that tells most of it."""
    slowest = min(found.ratios, key=lambda name: found.ratios[name], default="pace")
    return found.sentence if slowest == "pace" else f"{found.sentence} ({slowest} {found.ratios[slowest]:.2f}x)"


def machine_speed(
    reports: tuple[Report, ...], baseline: Baseline, relation: Relation, pace: AtOnePace | None
) -> MachineSpeed:
    """By the pace where that is known, else by the probes."""
    if pace is not None:
        return machine.at_pace(pace.pace, pace.log_effect, pace.log_sd, match=relation.match)
    timed: list[Mapping[str, Mapping[str, float | None]]] = [report.reference_probes for report in reports]
    return machine.by_probes(
        timed if relation.probes_comparable else [],
        baseline.probes,
        precision=reports[0].precision,
        match=relation.match,
        weights=shares_of(baseline),
    )
