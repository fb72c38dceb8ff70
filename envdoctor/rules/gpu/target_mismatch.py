from __future__ import annotations

from collections.abc import Iterator

from envdoctor.compat.gpus import capability_of, identify
from envdoctor.compat.numbers import capability
from envdoctor.compat.renting import for_capability
from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, need, rule
from envdoctor.target import Target


@rule(Severity.WARNING)
def target_mismatch(facts: Facts, target: Target) -> Iterator[Finding]:
    """The GPU here is not the target's.

    Why: a machine was asked for as one GPU and is another: flags, stack and speeds of the target do not apply. Another
    model of the same compute capability is a note: only its speed differs.
    Fix: choose the target that fits, or rent the GPU that was meant.
    Source: the target file
    """
    gpus = need(facts.gpus)
    if target.capability is None or not gpus.devices:
        raise Skip("the target asks for no GPU, or none is here")
    listed = {model for name in target.gpu_names if (model := identify(name)) is not None}
    for name in dict.fromkeys(gpu.name for gpu in gpus.devices):
        gpu = next(each for each in gpus.devices if each.name == name)
        number = gpu.capability or capability_of(name)
        if number is None or (model := identify(name)) in listed:
            continue
        same = number == target.capability
        if same and (model is None or not listed):
            continue
        older = (capability(number) or (0, 0)) < (capability(target.capability) or (0, 0))
        yield Finding(
            kind="config-mismatch",
            subject=name,
            actual=f"{name} (compute capability {number})",
            expected=f"{target.title} (compute capability {target.capability})",
            message=f"The target is {target.title}, the GPU here is {name}"
            + (": same architecture, other speed." if same else f" of capability {number}, not {target.capability}."),
            remedy=Remedy(
                text="Choose the target of this GPU."
                + (f" {for_capability(target.capability)}" if older and not same else ""),
                commands=("envdoctor check --target auto",),
            ),
            severity=Severity.NOTE if same else None,
        )
