from envdoctor.rules.precision._float32 import FLAG, no_effect, trains_in_half
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, SetFlag, Skip, Target, finding, need, remedies, rule

_FAST = frozenset({"high", "medium"})


@rule(WARNING, kind="flag-differs", subject=FLAG)
def float32_matmul(facts: Facts, target: Target) -> Findings:
    """float32 matrix products do not run at the precision the target was timed with.

    Why: torch computes float32 products in full float32 unless told otherwise. On Ampere and later GPUs TF32 does them
    several times faster (0.11 s -> 0.016 s for one product in the thread cited; about 2x end to end for a float32
    model). bf16 and fp16 products never look at this setting, so it is a note where the target computes in those and
    no launcher says otherwise. GPUs before Ampere have no TF32; CPUs take it up only with AMX or bf16 instructions.
    Fix: torch.set_float32_matmul_precision("high"), before the first product. Not the newer fp32_precision
    attributes alone: after those the older readers raise.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html
    https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html
    https://github.com/pytorch/pytorch/issues/61890
    """
    wanted = target.flags.get(FLAG)
    if wanted is None:
        if target.name == "none":
            raise Skip("no target was chosen")
        return
    flag = need(facts.torch).flags.get(FLAG)
    if flag is None or flag.value is None or flag.value == wanted:
        return
    if {flag.value, wanted} <= _FAST and not target.is_cpu:
        return
    useless = no_effect(facts, target)
    half = useless is None and not target.is_cpu and trains_in_half(facts, target)
    effect = f"; no effect here: {useless}." if useless else _ONLY_FLOAT32
    yield finding(
        actual=flag.value,
        expected=wanted,
        kind="no-effect" if useless else "",
        severity=NOTE if useless or half else None,
        message=f"float32 matmul precision is {flag.value!r}, the target was timed with {wanted!r}{effect}",
        fix=remedies.setting(target, f'Call torch.set_float32_matmul_precision("{wanted}") before training.'),
        repair=() if useless else (SetFlag(name=FLAG, value=wanted),),
    )


_ONLY_FLOAT32 = ". It matters for float32 products only, not for bf16 or fp16."
