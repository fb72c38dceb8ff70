from envdoctor.rules.rule import WARNING, Facts, Findings, Target, rule
from envdoctor.rules.variables import _leftovers


@rule(WARNING)
def caches_disabled(facts: Facts, target: Target) -> Findings:
    """Caches of compiled kernels are switched off.

    Why: compiled graphs and kernels are kept on disk, so that a second start is quick. Without the cache each
    start compiles everything again; the steps themselves are as fast as ever.
    Fix: unset the variable.
    Source: https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_configuration_tutorial.html
    https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
    """
    yield from _leftovers.variable_findings(_leftovers.CACHES_OFF, facts, target)
