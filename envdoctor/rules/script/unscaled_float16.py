from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import autocasts, finding_at, steps, trees

_HANDLED = ("accelerate", "lightning", "pytorch_lightning", "deepspeed", "composer", "apex")


@rule(WARNING, kind="script-wrong", expected="bfloat16, or float16 with a gradient scaler")
def unscaled_float16(facts: Facts) -> Findings:
    """float16 autocast trains without a gradient scaler.

    Why: gradients below about 6e-8 become zero in float16, so training stalls or drifts without an error. float16 is
    also what torch.autocast("cuda") takes when no dtype is given.
    Fix: autocast to bfloat16 (GPUs from capability 8.0 on), or scale the loss with torch.amp.GradScaler.
    Source: https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
    """
    for tree in trees(facts):
        if not steps(tree) or tree.imports(*_HANDLED) or "GradScaler" in tree.script.source:
            continue
        for call, dtype in autocasts(tree):
            if dtype == "float16" and not _only_inference(tree.script.source):
                yield finding_at(
                    tree,
                    call,
                    message="float16 without a gradient scaler: small gradients become zero.",
                    fix="Use bfloat16, which needs no scaler, or add torch.amp.GradScaler.",
                    run='torch.autocast("cuda", dtype=torch.bfloat16)',
                )


def _only_inference(source: str) -> bool:
    return ".backward(" not in source
