from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import remedies
from envdoctor.rule import Finding, Pin, Severity, Skip, need, rule
from envdoctor.target import Target

IMPORTED = frozenset("torch transformers accelerate datasets peft safetensors tokenizers numpy".split())
"""What the trainer itself imports. The rest of a stack is needed by the locked versions of these, not by older ones."""


@rule(Severity.ERROR)
def missing(facts: Facts, target: Target) -> Iterator[Finding]:
    """A package of the target's stack is not installed.

    Why: without a package that the trainer imports nothing starts (error). What only the locked versions of others
    need is a warning: other versions may do without it. A pasted list that is filtered proves no absence.
    Fix: install the locked version.
    Source: the stack's lockfile; https://packaging.python.org/en/latest/specifications/pylock-toml/
    """
    packages = need(facts.packages)
    if target.choice is None:
        raise Skip(target.no_choice or "no stack was chosen for this machine")
    if not packages.complete:
        raise Skip("the list of packages is not complete")
    present = {distribution.name for distribution in packages.distributions}
    for pin in target.choice.pins:
        if pin.name in present:
            continue
        yield Finding(
            kind="package-missing",
            severity=Severity.ERROR if pin.name in IMPORTED else Severity.WARNING,
            subject=pin.name,
            actual="not installed",
            expected=pin.version,
            message=f"{pin.name} is not installed; {target.choice.stack} locks {pin.version}.",
            remedy=remedies.repair(target, f"Install {pin.name} {pin.version}."),
            explains=("torch/",) if pin.name == "torch" else (),
            root_rank=60 if pin.name == "torch" else 0,
            repair=(Pin(name=pin.name, version=pin.version),),
        )
