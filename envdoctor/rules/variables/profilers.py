from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import leftovers
from envdoctor.knowledge.cuda_variables import PROFILERS
from envdoctor.rule import Finding, Severity, rule
from envdoctor.target import Target


@rule(Severity.WARNING)
def profilers(facts: Facts, target: Target) -> Iterator[Finding]:
    """A profiler or debugger of NVIDIA's is hooked in by a variable.

    Why: these ten variables load a profiler or debugger into every CUDA program, or change what a fault does.
    NVIDIA's own diagnostic refuses to measure while one of them is set.
    Fix: unset the variable.
    Source: https://github.com/NVIDIA/DCGM/blob/master/nvvs/src/Software.cpp
    https://github.com/leptonai/gpud/blob/main/components/accelerator/nvidia/processes
    """
    yield from leftovers.found(PROFILERS, facts, target)
