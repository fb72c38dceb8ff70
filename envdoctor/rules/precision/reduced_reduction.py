from envdoctor.rules.rule import NOTE, Facts, Findings, SetFlag, Target, finding, need, remedies, rule

_FLAG = "bf16-reduced-precision-reduction"
_ATTRIBUTE = "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction"


@rule(NOTE, kind="flag-differs", subject=_FLAG)
def reduced_reduction(facts: Facts, target: Target) -> Findings:
    """bf16 products add their partial sums in another precision than the target was timed with.

    Why: where a product is split along its inner dimension, cuBLAS may add the parts in bf16 instead of float32:
    torch allows it by default. Forbidding it takes some split kernels away; the effect on speed is small and
    depends on the shapes.
    Fix: set it as the target says.
    Source: https://docs.pytorch.org/docs/stable/notes/cuda.html#reduced-precision-reduction-in-bf16-gemms
    """
    flag = need(facts.torch).flags.get(_FLAG)
    wanted = target.flags.get(_FLAG, "true")  # torch's default
    if flag is None or flag.value is None or flag.value == wanted or (target.is_cpu and target.name != "none"):
        return
    may = "may" if flag.value == "true" else "may not"
    whose = "the target was timed" if _FLAG in target.flags else "the default is"
    yield finding(
        actual=flag.value,
        expected=wanted,
        message=f"bf16 products {may} add partial sums in bf16; {whose} otherwise.",
        fix=remedies.setting(target, f"Set {_ATTRIBUTE} = {wanted == 'true'}."),
        repair=(SetFlag(name=_FLAG, value=wanted),) if _FLAG in target.flags else (),
    )
