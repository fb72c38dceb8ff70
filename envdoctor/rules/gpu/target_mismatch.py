from envdoctor.knowledge.questions import capability, capability_of, for_capability, identify
from envdoctor.locks.nearest import target_named
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Remedy, Skip, Target, finding, need, rule


@rule(WARNING, kind="config-mismatch")
def target_mismatch(facts: Facts, target: Target) -> Findings:
    """The GPU here is not the target's.

    Why: a machine was asked for as one GPU and is another: flags, stack and speeds of the target do not apply. Another
    model of the same compute capability is a note: only its speed differs.
    Fix: choose the target that fits, or rent the GPU that was meant.
    Source: the target file
    """
    gpus = need(facts.gpus)
    if target.capability is None or not gpus.devices:
        raise Skip("the target asks for no GPU, or none is here")
    for name in dict.fromkeys(gpu.name for gpu in gpus.devices):
        gpu = next(each for each in gpus.devices if each.name == name)
        number = gpu.capability or capability_of(name)
        model = identify(name)
        if number is None or target_named((target,), name, model) is not None:
            continue
        same = number == target.capability
        if same and (model is None or not target.gpu_names):
            continue
        older = (capability(number) or (0, 0)) < (capability(target.capability) or (0, 0))
        difference = ": same architecture, other speed" if same else f" of capability {number}, not {target.capability}"
        renting = f" {for_capability(target.capability)}" if older and not same else ""
        yield finding(
            subject=name,
            actual=f"{name} (compute capability {number})",
            expected=f"{target.title} (compute capability {target.capability})",
            severity=NOTE if same else None,
            message=f"The target is {target.title}, the GPU here is {name}{difference}.",
            fix=Remedy(text=f"Choose the target of this GPU.{renting}", commands=("envdoctor check --target auto",)),
        )
