from envdoctor.rules.rule import NOTE, Facts, Findings, Remedy, Target, finding, likely_capabilities, rule
from envdoctor.rules.script._launching import settings


@rule(NOTE, kind="script-slow", expected="mixed_precision: bf16")
def launch_precision(facts: Facts, target: Target) -> Findings:
    """The launch file asks for full precision on a GPU with bfloat16 tensor cores.

    Why: float32 runs at a small part of the speed of bfloat16 on GPUs from capability 8.0 on. It may be meant, and a
    script that loads the model in bfloat16 needs no mixed precision.
    Fix: mixed_precision: bf16, unless the script chooses its own types.
    Source: https://huggingface.co/docs/accelerate/usage_guides/mixed_precision
    """
    found = list(settings(facts))
    gpus = likely_capabilities(facts, target)
    if not gpus or min(gpus) < (8, 0):
        return
    for _, file in found:
        for setting in file:
            if setting.name == "mixed_precision" and setting.value.lower() in ("no", "fp16"):
                full = setting.value.lower() == "no"
                what = "full precision" if full else "float16, which needs loss scaling,"
                yield finding(
                    subject=setting.place,
                    actual=f"mixed_precision: {setting.value}",
                    message=f"{setting.place}: {what} on a GPU that computes bfloat16 at full speed.",
                    fix=_USE_BF16,
                )


_USE_BF16 = Remedy(text="Use bf16, unless the script chooses its own types.", commands=("mixed_precision: bf16",))
