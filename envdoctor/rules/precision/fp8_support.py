from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts, Unavailable
from envdoctor.knowledge.hardware import capabilities
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, rule
from envdoctor.target import Target


@rule(Severity.ERROR)
def fp8_support(facts: Facts, target: Target) -> Iterator[Finding]:
    """The launcher asks for fp8 on a GPU that has none.

    Why: fp8 matrix products exist from compute capability 8.9 (Ada) and 9.0 (Hopper) on. On older GPUs
    Transformer Engine and torchao stop with an assertion.
    Fix: bf16 from compute capability 8.0 on.
    Source: https://docs.nvidia.com/deeplearning/transformer-engine/user-guide/
    https://huggingface.co/docs/accelerate/usage_guides/low_precision_training
    """
    launcher = known(facts.launcher)
    wanted = launcher.settings.get("mixed_precision") if launcher else None
    if wanted is None:
        if isinstance(facts.launcher, Unavailable) and facts.launcher.why != "absent":
            raise Skip(facts.launcher.reason)
        return
    found = capabilities(facts, target)
    if wanted == "fp8" and found and min(found) < (8, 9):
        least = min(found)
        yield Finding(
            kind="config-mismatch",
            subject="mixed_precision",
            actual="fp8",
            expected="bf16" if least >= (8, 0) else "fp16",
            message=f"The launcher trains in fp8, which compute capability {least[0]}.{least[1]} does not have.",
            remedy=Remedy(
                text="Choose a format that the GPU has.",
                commands=(f"accelerate launch --mixed_precision {'bf16' if least >= (8, 0) else 'fp16'} train.py",),
            ),
            root_rank=20,
        )
