from envdoctor.rules.finding import Findings, SetFlag, finding
from envdoctor.rules.precision._launcher import launched_in
from envdoctor.rules.rule import NOTE, WARNING, Facts, Skip, Target, known, likely_capabilities, need, remedies, rule

_FLAG = "float32-matmul-precision"
_FAST = frozenset({"high", "medium"})
# Instructions with which oneDNN takes the setting up: torch 2.13 passes "high" on as tf32 and "medium" as bf16.
_CPU = {
    "highest": frozenset({"amx_fp16", "avx512_bf16", "amx_bf16"}),
    "high": frozenset({"amx_fp16"}),
    "medium": frozenset({"avx512_bf16", "amx_bf16"}),
}


@rule(WARNING)
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
    wanted = target.flags.get(_FLAG)
    if wanted is None:
        if target.name == "none":
            raise Skip("no target was chosen")
        return
    flag = need(facts.torch).flags.get(_FLAG)
    if (
        flag is None
        or flag.value is None
        or flag.value == wanted
        or ({flag.value, wanted} <= _FAST and not target.is_cpu)
    ):
        return
    useless = _no_effect(facts, target)
    half = useless is None and not target.is_cpu and _trains_in_half(facts, target)
    yield finding(
        subject=_FLAG,
        actual=flag.value,
        expected=wanted,
        kind="no-effect" if useless else "flag-differs",
        severity=NOTE if useless or half else None,
        message=f"float32 matmul precision is {flag.value!r}, the target was timed with {wanted!r}"
        + (
            f"; no effect here: {useless}."
            if useless
            else ". It matters for float32 products only, not for bf16 or fp16."
        ),
        fix=remedies.setting(target, f'Call torch.set_float32_matmul_precision("{wanted}") before training.'),
        repair=() if useless else (SetFlag(name=_FLAG, value=wanted),),
    )


def _no_effect(facts: Facts, target: Target) -> str | None:
    if target.is_cpu:
        host = known(facts.host)
        helpful = _CPU.get(target.flags[_FLAG], frozenset()) & set(host.cpu_flags if host else ())
        return None if helpful else "this CPU has no instructions for it"
    found = likely_capabilities(facts, target)
    if found and max(found) < (8, 0):
        return "no GPU here has TF32 (compute capability 8.0 and later)"
    precision = launched_in(facts)
    if precision in ("bf16", "fp16"):
        return f"the launcher trains in {precision}, whose products do not use it"
    return None


def _trains_in_half(facts: Facts, target: Target) -> bool:
    """Does the target compute in 16 bits, and no launcher in float32?"""
    return launched_in(facts) is None and target.conditions.get("precision") in ("bfloat16", "float16")
