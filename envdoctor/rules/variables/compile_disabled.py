from envdoctor.rules.rule import WARNING, Facts, Findings, Target, rule
from envdoctor.rules.variables import _leftovers


@rule(WARNING)
def compile_disabled(facts: Facts, target: Target) -> Findings:
    """torch.compile is switched off by a variable.

    Why: these variables make torch.compile return the function as it is, or hide that compiling failed: the run
    goes on, slower, and nothing says so. They cost nothing where torch.compile is not called.
    Fix: unset the variable.
    Source: https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html
    https://github.com/pytorch/pytorch/blob/main/torch/_dynamo/config.py
    """
    yield from _leftovers.variable_findings(_leftovers.COMPILE_OFF, facts, target)
