from envdoctor.rules.rule import WARNING, Facts, Findings, Target, rule
from envdoctor.rules.variables import _leftovers


@rule(WARNING)
def profilers(facts: Facts, target: Target) -> Findings:
    """A profiler or debugger of NVIDIA's is hooked in by a variable.

    Why: these ten variables load a profiler or debugger into every CUDA program, or change what a fault does.
    NVIDIA's own diagnostic refuses to measure while one of them is set.
    Fix: unset the variable.
    Source: https://github.com/NVIDIA/DCGM/blob/master/nvvs/src/Software.cpp
    https://github.com/leptonai/gpud/blob/main/components/accelerator/nvidia/processes
    """
    yield from _leftovers.variable_findings(_leftovers.PROFILERS, facts, target)
