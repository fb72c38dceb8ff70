from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge.hardware import capabilities, trains_on_gpu
from envdoctor.rule import Finding, Remedy, Severity, Skip, need, rule
from envdoctor.target import Target

# Training speed of cuDNN's attention relative to flash, by compute capability: huggingface/transformers#48163
_MEASURED = {(8, 0): 0.82, (8, 6): 0.93, (8, 9): 1.0, (12, 0): 0.88}


@rule(Severity.WARNING)
def cudnn_first(facts: Facts, target: Target) -> Iterator[Finding]:
    """cuDNN's attention is tried first on a GPU where it is the slower one.

    Why: cuDNN's attention trains 1.7 to 2.3 times faster than flash on Hopper, but was measured at 0.82 of
    flash's speed on A100, 0.93 on A10G and 0.88 on RTX PRO 6000 Blackwell. A setting copied from a Hopper machine
    slows these.
    Fix: flash first on them.
    Source: https://github.com/huggingface/transformers/pull/48163
    https://github.com/sgl-project/sglang/pull/38689
    """
    flag = need(facts.torch).flags.get("sdp")
    found = capabilities(facts, target)
    if not found:
        if trains_on_gpu(facts, target) is not False:
            raise Skip("the GPU is not known")
        return
    if flag is None or flag.value is None or "sdp" in target.flags:
        return  # the target's own order was measured on its GPU: attention/sdp-backends compares with it
    slower = sorted(ratio for capability, ratio in _MEASURED.items() if capability in found and ratio < 1.0)
    if not slower or not flag.value.replace(" ", "").startswith("cudnn,"):
        return
    yield Finding(
        kind="flag-differs",
        subject="sdp",
        actual=flag.value,
        expected="flash,efficient,math,cudnn",
        message=f"cuDNN's attention comes first; on this GPU it trained at {slower[0]:g} of flash's speed.",
        remedy=Remedy(
            text="Try flash first: torch.nn.attention.sdpa_kernel([...], set_priority=True), or remove the line that "
            "changed the order.",
            commands=("grep -rnE 'sdpa_kernel|_set_sdp_priority_order' --include='*.py' .",),
        ),
        root_rank=4,
    )
