"""How near the run is to what the baseline was measured on (machine, lock, torch, threads), and what distance costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from envdoctor.facts import Facts, Unavailable
from envdoctor.speed import chips
from envdoctor.speed.probes import Kinship
from envdoctor.speed.report import Report
from envdoctor.target import Baseline, Target

LOCK_SPREAD = 0.03
"""Log-sd that another lock is worth: isolated torch upgrades gave +8, +2.4, +1.1, -0.6 % (modded-nanogpt's records)."""
TRANSFER_SPREAD = 0.05
"""Log-sd of predicting another model of machine through its probes, on top of what the probes disagree by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """``spread``: log-sd to add for the distance; ``probes_comparable``: may the machine factor be divided out?"""

    kinship: Kinship
    evidence: Literal["measured", "derived"]
    spread: float
    probes_comparable: bool
    remarks: tuple[str, ...] = ()


def relate(
    report: Report, baseline: Baseline, target: Target | None, facts: Facts | None, *, same_machine: bool = False
) -> Relation:
    """Compare the conditions of a run with a baseline's. What is not recorded is taken as equal, and not counted."""
    remarks: list[str] = []
    kinship = machine_kinship(report, baseline, facts)
    if same_machine and kinship == "same-model":
        kinship = "same-machine"
    evidence: Literal["measured", "derived"] = "derived" if baseline.evidence == "derived" else "measured"
    recorded = baseline.conditions.get("spread", 0.0)
    variance = float(recorded) ** 2 if isinstance(recorded, (int, float)) else 0.0
    if baseline.evidence == "derived":
        remarks.append(f"the baseline is derived: {baseline.source}")
    if kinship == "other-model":
        evidence = "derived"
        variance += TRANSFER_SPREAD**2
        remarks.append(
            f"the baseline is of {baseline.gpu or 'another machine'}, this is {report.device.name}: "
            "compared through the reference probes"
        )
    digest = target.choice.digest if target and target.choice else None
    if baseline.lock is not None and digest is not None and baseline.lock != digest:
        evidence = "derived"
        variance += LOCK_SPREAD**2
        remarks.append("the baseline was measured with another lock of this stack")
    same_torch = _same(report.versions.get("torch"), mapping(baseline.conditions, "versions").get("torch"))
    same_threads = _same(report.device.threads, baseline.conditions.get("threads"))
    return Relation(
        kinship=kinship,
        evidence=evidence,
        spread=variance**0.5,
        # The probes run through torch with its threads: with another torch, or other threads, they would divide out
        # the very fault that is looked for.
        probes_comparable=kinship == "other-model" or (same_torch and same_threads),
        remarks=tuple(remarks),
    )


def machine_kinship(report: Report, baseline: Baseline, facts: Facts | None) -> Kinship:
    """Is this the machine of the baseline, one of its model, or another?"""
    machine = baseline.conditions.get("machine")
    if machine is not None and machine == report.device.machine and report.device.name in str(baseline.gpu):
        return "same-machine"
    if report.device.type == "cpu":
        same_model = _same(report.device.cpu_model, baseline.conditions.get("cpu_model"))
        same_size = _same(report.device.cores, baseline.conditions.get("cores"))
        return "same-model" if same_model and same_size else "other-model"
    identity = baseline.conditions.get("identity")
    if identity and identity in _identities(facts):
        return "same-machine"
    ours, theirs = chips.find(report.device.name), chips.find(baseline.gpu or "")
    same = report.device.name == baseline.gpu or (ours is not None and ours == theirs)
    return "same-model" if same else "other-model"


def _identities(facts: Facts | None) -> tuple[str, ...]:
    if facts is None or isinstance(facts.gpus, Unavailable):
        return ()
    return tuple(gpu.identity for gpu in facts.gpus.devices[:1] if gpu.identity)


def _same(ours: object, theirs: object) -> bool:
    return ours is None or theirs is None or ours == theirs


def mapping(conditions: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A table of a baseline's conditions; empty when it is absent or something else."""
    value = conditions.get(name)
    return value if isinstance(value, Mapping) else {}
