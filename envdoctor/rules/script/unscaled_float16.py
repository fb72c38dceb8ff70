from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Severity, rule
from envdoctor.rules.script._precision import autocasts
from envdoctor.rules.script._reading import found, trees
from envdoctor.rules.script._steps import steps
from envdoctor.target import Target

_HANDLED = ("accelerate", "lightning", "pytorch_lightning", "deepspeed", "composer", "apex")


@rule(Severity.WARNING)
def unscaled_float16(facts: Facts, target: Target) -> Iterator[Finding]:
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
                yield found(
                    tree,
                    call,
                    kind="script-wrong",
                    expected="bfloat16, or float16 with a gradient scaler",
                    message="float16 without a gradient scaler: small gradients become zero.",
                    text="Use bfloat16, which needs no scaler, or add torch.amp.GradScaler.",
                    line='torch.autocast("cuda", dtype=torch.bfloat16)',
                )


def _only_inference(source: str) -> bool:
    return ".backward(" not in source
