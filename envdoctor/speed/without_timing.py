"""What can be said of a speed without timing anything: that it could not be judged here, and what can be done instead.

Asked before a workload is trained, which takes minutes; from facts that are there in a second, without importing torch.
"""

from __future__ import annotations

from envdoctor.facts.model import Facts, Unavailable
from envdoctor.knowledge.gpus import board
from envdoctor.knowledge.versions import label
from envdoctor.locks.target import Baseline, Target
from envdoctor.speed.outcome import Verdict

HIDDEN = ("", "-1", "NoDevFiles", "none", "void")  # values of CUDA_VISIBLE_DEVICES that leave no GPU


def without_timing(facts: Facts, target: Target, workload: str, baseline: Baseline | None) -> Verdict | None:
    """The verdict where timing could tell nothing: no torch, no device of the target, neither a baseline nor a
    card whose figures are known; else None.

    ``baseline``: what a run of ``workload`` would be held against, measured or derived. What the facts do not tell is
    no reason against timing.
    """
    found = _without_baseline(facts, target, workload, baseline)
    return without_training(facts, target, workload, baseline) or (found and _cannot_tell(found, workload, baseline))


def without_training(facts: Facts, target: Target, workload: str, baseline: Baseline | None = None) -> Verdict | None:
    """The verdict where nothing can be trained: no device of the target, no torch; else None."""
    found = _without_gpu(facts, target) or _without_torch(facts, target)
    return found and _cannot_tell(found, workload, baseline)


def _cannot_tell(found: tuple[str, str], workload: str, baseline: Baseline | None) -> Verdict:
    problem, instead = found
    return Verdict(
        word="not-comparable",
        workload=workload,
        because=problem,
        instead=instead,
        reasons=(problem, instead),
        baseline=baseline,
        evidence=baseline.evidence if baseline is not None else "none",
    )


def _without_torch(facts: Facts, target: Target) -> tuple[str, str] | None:
    if isinstance(facts.packages, Unavailable) or not facts.packages.complete:
        return None
    versions = [one.version for one in facts.packages.distributions if one.name == "torch"]
    if not versions:
        return (
            "this environment has no torch, so nothing can be trained in it",
            f"Install the locked stack: envdoctor fix --target {target.name}; or name another environment: --env PATH",
        )
    if not target.is_cpu and all(label(version) == "cpu" for version in versions):
        return (
            f"torch {versions[0]} is a build for CPUs, and target {target.name} is judged on its GPU",
            f"Install the locked stack: envdoctor fix --target {target.name}; or judge this one: --target cpu",
        )
    return None


def _without_gpu(facts: Facts, target: Target) -> tuple[str, str] | None:
    if target.is_cpu:
        return None
    instead = "Judge this machine: envdoctor verify --target cpu. A GPU's limits: envdoctor baseline limit --help"
    if isinstance(facts.gpus, Unavailable):
        return f"no GPU can be seen here ({facts.gpus.reason}), and target {target.name} is judged on its GPU", instead
    if not facts.gpus.devices:
        return f"this machine has no NVIDIA GPU, and target {target.name} is judged on one", instead
    if not isinstance(facts.variables, Unavailable) and facts.variables.get("CUDA_VISIBLE_DEVICES", "0") in HIDDEN:
        return "CUDA_VISIBLE_DEVICES hides every GPU of this machine", "Unset it: unset CUDA_VISIBLE_DEVICES"
    return None


def _without_baseline(facts: Facts, target: Target, workload: str, baseline: Baseline | None) -> tuple[str, str] | None:
    if baseline is not None or (target.choice is not None and _card_known(facts, target)):
        return None
    if target.choice is None:
        why = target.no_choice or "no stack was chosen"
        return f"no stack of target {target.name} fits here ({why}), so there is nothing to compare with", (
            f"See what is in the way: envdoctor check --target {target.name}"
        )
    known = sorted({one.workload for one in target.baselines if one.stack == target.choice.stack})
    other = f"Take --workload {' or '.join(known)}, or record" if known else "Record"
    return (
        f"nobody has recorded how fast {workload} should be (target {target.name}, stack {target.choice.stack})",
        f"{other} it where all is well: envdoctor baseline record --target {target.name} --output mine.toml. Your own "
        "script needs no baseline: envdoctor run --measure",
    )


def _card_known(facts: Facts, target: Target) -> bool:
    """Is there a GPU whose figures are in the table? Then the card can be judged, if not the step."""
    if target.is_cpu or isinstance(facts.gpus, Unavailable):
        return False
    return any(board(gpu.name) is not None for gpu in facts.gpus.devices)
