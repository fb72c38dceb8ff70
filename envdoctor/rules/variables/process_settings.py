from envdoctor.rules.rule import NOTE, Facts, Findings, Target, rule
from envdoctor.rules.variables import _leftovers


@rule(NOTE)
def process_settings(facts: Facts, target: Target) -> Findings:
    """Settings of CUDA, tokenizers or OpenMP that are right for some runs only.

    Why: one launch queue (CUDA_DEVICE_MAX_CONNECTIONS=1) belongs to Megatron's overlap,
    TOKENIZERS_PARALLELISM=false to forked loaders, pinned threads to one process per node. Elsewhere they cost
    something small, or nothing.
    Fix: unset what this run does not need.
    Source: https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
    https://github.com/NVIDIA/Megatron-LM https://github.com/huggingface/tokenizers
    """
    yield from _leftovers.variable_findings(_leftovers.SETTINGS, facts, target, kind="no-effect")
