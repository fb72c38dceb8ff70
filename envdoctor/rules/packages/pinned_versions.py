from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import remedies, versions
from envdoctor.knowledge.plumbing import PLUMBING
from envdoctor.rule import Finding, Pin, Severity, Skip, need, rule
from envdoctor.target import Target


@rule(Severity.WARNING)
def pinned_versions(facts: Facts, target: Target) -> Iterator[Finding]:
    """Installed versions differ from the target's known-fast stack.

    Why: a recorded speed belongs to exactly the locked packages. Other versions may be faster or slower, and both
    happen: one flash-attn upgrade cost 20 % on an H100, a base image moved iteration time by -7.8 % to +26.8 %.
    Packages that never run in a training step are only noted. Local labels count: 2.13.0+cpu is not 2.13.0+cu130.
    Fix: install the locked versions in one step that can be undone, or lock what you have (`envdoctor lock`).
    Source: https://github.com/Dao-AILab/flash-attention/issues/1903
    https://github.com/NVIDIA/Megatron-LM/pull/6991 https://github.com/huggingface/transformers/issues/37504
    """
    packages = need(facts.packages)
    if target.choice is None:
        raise Skip(target.no_choice or "no stack was chosen for this machine")
    stack = target.choice.stack
    for pin in target.choice.pins:
        found = packages.find(pin.name)
        if found is None or _as_locked(found.version, pin.version, facts, target.choice.cuda):
            continue
        yield Finding(
            kind="version-drift",
            subject=pin.name,
            actual=found.version,
            expected=pin.version,
            message=f"{pin.name} {found.version} is {_relation(found.version, pin.version)} {pin.version}, "
            f"which {stack} locks.",
            remedy=remedies.repair(
                target, f"Install the locked {pin.name}.", remedies.install(f"{pin.name}=={pin.version}")
            ),
            severity=Severity.NOTE if pin.name in PLUMBING else None,
            repair=(Pin(name=pin.name, version=pin.version),),
        )


def _as_locked(actual: str, locked: str, facts: Facts, cuda: str | None) -> bool:
    if versions.same(actual, locked):
        return True
    # A pasted report quotes torch.__version__, which carries "+cu130" even where the wheel's metadata carries no label.
    implied = f"{locked}+cu{cuda.replace('.', '')}" if cuda and not versions.label(locked) else locked
    return facts.origin.kind == "pasted" and versions.same(actual, implied)


def _relation(actual: str, locked: str) -> str:
    if versions.same(versions.public(actual), versions.public(locked)):
        return "another build than"
    ours, theirs = versions.parse(actual), versions.parse(locked)
    if ours is None or theirs is None:
        return "not"
    return "older than" if ours < theirs else "newer than"
