from envdoctor.rules.precision._launcher import launch_in, require_launched_in
from envdoctor.rules.rule import NOTE, Facts, Findings, Target, finding, likely_capabilities, rule


@rule(NOTE, kind="flag-differs", subject="mixed_precision", expected="bf16")
def launcher_precision(facts: Facts, target: Target) -> Findings:
    """The launcher leaves training in float32, or chooses a narrower format than the GPU offers best.

    Why: with mixed_precision "no", a script that sets nothing itself trains in float32, at a fraction of the
    GPU's bf16 rate. fp16 on Ampere or later needs loss scaling, which bf16 does not. A script or model that is in
    bf16 already does not care.
    Fix: mixed_precision bf16, from compute capability 8.0 on.
    Source: https://huggingface.co/docs/accelerate/usage_guides/mixed_precision
    https://docs.pytorch.org/docs/stable/amp.html
    """
    wanted = require_launched_in(facts)
    if wanted is None:
        return
    found = likely_capabilities(facts, target)
    if not found or min(found) < (8, 0) or wanted.lower() not in ("no", "fp16"):
        return
    text = "trains in float32 unless the script says otherwise" if wanted.lower() == "no" else "needs loss scaling"
    message = f"The launcher's mixed_precision is {wanted}: it {text}; this GPU computes bf16."
    yield finding(actual=wanted, message=message, fix=_CHOOSE_BF16)


_CHOOSE_BF16 = launch_in("bf16", "Choose bf16, unless the script sets its own.")
