from envdoctor.rules.precision._launcher import launch_in, require_launched_in
from envdoctor.rules.rule import ERROR, Facts, Findings, Target, finding, likely_capabilities, rule


@rule(ERROR, kind="config-mismatch", subject="mixed_precision")
def fp8_support(facts: Facts, target: Target) -> Findings:
    """The launcher asks for fp8 on a GPU that has none.

    Why: fp8 matrix products exist from compute capability 8.9 (Ada) and 9.0 (Hopper) on. On older GPUs
    Transformer Engine and torchao stop with an assertion.
    Fix: bf16 from compute capability 8.0 on.
    Source: https://docs.nvidia.com/deeplearning/transformer-engine/user-guide/
    https://huggingface.co/docs/accelerate/usage_guides/low_precision_training
    """
    wanted = require_launched_in(facts)
    found = likely_capabilities(facts, target)
    if wanted == "fp8" and found and min(found) < (8, 9):
        least = min(found)
        instead = "bf16" if least >= (8, 0) else "fp16"
        yield finding(
            actual="fp8",
            expected=instead,
            message=f"The launcher trains in fp8, which compute capability {least[0]}.{least[1]} does not have.",
            fix=launch_in(instead, "Choose a format that the GPU has."),
        )
