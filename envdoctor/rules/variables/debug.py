from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import leftovers
from envdoctor.knowledge.debug_variables import DEBUG
from envdoctor.rule import Finding, Severity, rule
from envdoctor.target import Target


@rule(Severity.WARNING)
def debug(facts: Facts, target: Target) -> Iterator[Finding]:
    """A debugging variable was left on.

    Why: variables that were set once to find a fault stay in images and launch scripts. CUDA_LAUNCH_BLOCKING
    makes every launch wait for its kernel; others check, log or trace each operation.
    Fix: unset the variable, and remove the line that sets it.
    Source: https://github.com/ByteDance-Seed/VeOmni/pull/115
    https://github.com/jishengpeng/WavTokenizer/issues/17
    https://github.com/horenbergerb/BernoulliDiffusion/issues/23
    https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
    """
    yield from leftovers.found(DEBUG, facts, target)
