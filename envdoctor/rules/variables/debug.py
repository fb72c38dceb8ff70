from envdoctor.rules.rule import WARNING, Facts, Findings, Target, rule
from envdoctor.rules.variables import _leftovers


@rule(WARNING)
def debug(facts: Facts, target: Target) -> Findings:
    """A debugging variable was left on.

    Why: variables that were set once to find a fault stay in images and launch scripts. CUDA_LAUNCH_BLOCKING
    makes every launch wait for its kernel; others check, log or trace each operation.
    Fix: unset the variable, and remove the line that sets it.
    Source: https://github.com/ByteDance-Seed/VeOmni/pull/115
    https://github.com/jishengpeng/WavTokenizer/issues/17
    https://github.com/horenbergerb/BernoulliDiffusion/issues/23
    https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
    """
    yield from _leftovers.variable_findings(_leftovers.DEBUG, facts, target)
