"""Where the precision of float32 products matters: on this hardware, and in what is trained."""

from envdoctor.rules.precision._launcher import launched_in
from envdoctor.rules.rule import Facts, Target, known, likely_capabilities

FLAG = "float32-matmul-precision"
# Instructions with which oneDNN takes the setting up: torch 2.13 passes "high" on as tf32 and "medium" as bf16.
_CPU = {
    "highest": frozenset({"amx_fp16", "avx512_bf16", "amx_bf16"}),
    "high": frozenset({"amx_fp16"}),
    "medium": frozenset({"avx512_bf16", "amx_bf16"}),
}


def no_effect(facts: Facts, target: Target) -> str | None:
    if target.is_cpu:
        host = known(facts.host)
        helpful = _CPU.get(target.flags[FLAG], frozenset()) & set(host.cpu_flags if host else ())
        return None if helpful else "this CPU has no instructions for it"
    found = likely_capabilities(facts, target)
    if found and max(found) < (8, 0):
        return "no GPU here has TF32 (compute capability 8.0 and later)"
    precision = launched_in(facts)
    if precision in ("bf16", "fp16"):
        return f"the launcher trains in {precision}, whose products do not use it"
    return None


def trains_in_half(facts: Facts, target: Target) -> bool:
    """Does the target compute in 16 bits, and no launcher in float32?"""
    return launched_in(facts) is None and target.conditions.get("precision") in ("bfloat16", "float16")
