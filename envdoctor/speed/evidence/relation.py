"""How near the run is to what the baseline was measured on (machine, lock, torch, threads), and what distance costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from envdoctor.facts.model import Facts
from envdoctor.knowledge import gpus
from envdoctor.locks.target import Baseline, Target
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.probes import Kind, shares
from envdoctor.speed.evidence.trained_gpu import trained_gpu
from envdoctor.speed.report import Report

MachineMatch = Literal["same-machine", "same-model", "other-model"]

LOCK_SPREAD = 0.03
"""Log-sd that another lock is worth: isolated torch upgrades gave +8, +2.4, +1.1, -0.6 % (modded-nanogpt's records)."""
TRANSFER_SPREAD = 0.10
"""Log-sd of predicting another model of machine, on top of what the probes disagree by.

Of 37 pairs of model and length that llm-foundry timed on both A100-80 and H100 (its scripts/train/benchmarking) the
ratio was 2.14 in the middle, 1.81 to 2.84; predicting each from data sheets and breakdown is 0.10 to 0.12 (log) off.
Between A100-40 and A100-80 39 pairs come to 0.08.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """``match``: of the two machines; ``probes_comparable``: may their probes be divided out?

    ``remarks``: what lies between the two, each with the log-sd that it adds.
    """

    match: MachineMatch
    evidence: Literal["measured", "derived"]
    probes_comparable: bool
    remarks: tuple[Evidence, ...] = ()


def relate(
    report: Report, baseline: Baseline, target: Target | None, facts: Facts | None, *, same_machine: bool = False
) -> Relation:
    """Compare the conditions of a run with a baseline's. What is not recorded is taken as equal, and not counted."""
    match = machine_match(report, baseline, facts)
    if same_machine and match == "same-model":
        match = "same-machine"
    choice = target.choice if target and target.choice and target.choice.digest else None
    other_lock = baseline.lock is not None and choice is not None and not choice.is_timed_as(baseline.lock)
    derived = baseline.evidence == "derived" or match == "other-model" or other_lock
    same_torch = _same(report.versions.get("torch"), mapping(baseline.conditions, "versions").get("torch"))
    same_threads = _same(report.device.threads, baseline.conditions.get("threads"))
    return Relation(
        match=match,
        evidence="derived" if derived else "measured",
        # The probes run through torch with its threads: with another torch, or other threads, they would divide out
        # the very fault that is looked for.
        probes_comparable=match == "other-model" or (same_torch and same_threads),
        remarks=tuple(_remarks(report, baseline, match, other_lock=other_lock)),
    )


def _remarks(report: Report, baseline: Baseline, match: MachineMatch, *, other_lock: bool) -> Iterator[Evidence]:
    recorded = baseline.conditions.get("spread", 0.0)
    spread = float(recorded) if isinstance(recorded, (int, float)) else 0.0
    if baseline.evidence == "derived":
        yield Evidence(cause=None, text=f"the baseline is derived: {baseline.source}", log_sd=spread)
    elif spread:
        yield Evidence(cause=None, text="", log_sd=spread)
    if match == "other-model":
        text = (
            f"the baseline is of {baseline.gpu or 'another machine'}, this is {report.device.name}: "
            "compared through the reference probes"
        )
        yield Evidence(cause=None, text=text, log_sd=TRANSFER_SPREAD)
    if other_lock:
        text = "the baseline was measured with another lock of this stack"
        yield Evidence(cause=None, text=text, log_sd=LOCK_SPREAD)


def machine_match(report: Report, baseline: Baseline, facts: Facts | None) -> MachineMatch:
    """Is this the machine of the baseline, one of its model, or another?"""
    machine = baseline.conditions.get("machine")
    if machine is not None and machine == report.device.machine and report.device.name in str(baseline.gpu):
        return "same-machine"
    if report.device.type == "cpu":
        same_model = _same(report.device.cpu_model, baseline.conditions.get("cpu_model"))
        same_size = _same(report.device.cores, baseline.conditions.get("cores"))
        return "same-model" if same_model and same_size else "other-model"
    identity = baseline.conditions.get("identity")
    ours = trained_gpu(facts, report.device)
    if identity and identity == (report.device.identity or (ours.identity if ours else None)):
        return "same-machine"
    board = gpus.board(report.device.name)
    same = report.device.name == baseline.gpu or (board is not None and board == gpus.board(baseline.gpu or ""))
    return "same-model" if same else "other-model"


def _same(ours: object, theirs: object) -> bool:
    return ours is None or theirs is None or ours == theirs


def shares_of(baseline: Baseline) -> Mapping[Kind, float]:
    """What a step of the baseline is made of, by its breakdown and by how much of it the GPU ran nothing."""
    idle = baseline.conditions.get("gpu_idle")
    known = float(idle) if isinstance(idle, (int, float)) and math.isfinite(idle) else None
    return shares(mapping(baseline.conditions, "breakdown"), known)


def mapping(conditions: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A table of a baseline's conditions; empty when it is absent or something else."""
    value = conditions.get(name)
    return value if isinstance(value, Mapping) else {}
