from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import leftovers
from envdoctor.knowledge.debug_variables import CACHES_OFF
from envdoctor.rule import Finding, Severity, rule
from envdoctor.target import Target


@rule(Severity.WARNING)
def caches_disabled(facts: Facts, target: Target) -> Iterator[Finding]:
    """Caches of compiled kernels are switched off.

    Why: compiled graphs and kernels are kept on disk, so that a second start is quick. Without the cache each
    start compiles everything again; the steps themselves are as fast as ever.
    Fix: unset the variable.
    Source: https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_configuration_tutorial.html
    https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
    """
    yield from leftovers.found(CACHES_OFF, facts, target)
