from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import leftovers
from envdoctor.knowledge.cuda_variables import SETTINGS
from envdoctor.rule import Finding, Severity, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def process_settings(facts: Facts, target: Target) -> Iterator[Finding]:
    """Settings of CUDA, tokenizers or OpenMP that are right for some runs only.

    Why: one launch queue (CUDA_DEVICE_MAX_CONNECTIONS=1) belongs to Megatron's overlap,
    TOKENIZERS_PARALLELISM=false to forked loaders, pinned threads to one process per node. Elsewhere they cost
    something small, or nothing.
    Fix: unset what this run does not need.
    Source: https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
    https://github.com/NVIDIA/Megatron-LM https://github.com/huggingface/tokenizers
    """
    yield from leftovers.found(SETTINGS, facts, target, kind="no-effect")
