from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import leftovers
from envdoctor.knowledge.debug_variables import COMPILE_OFF
from envdoctor.rule import Finding, Severity, rule
from envdoctor.target import Target


@rule(Severity.WARNING)
def compile_disabled(facts: Facts, target: Target) -> Iterator[Finding]:
    """torch.compile is switched off by a variable.

    Why: these variables make torch.compile return the function as it is, or hide that compiling failed: the run
    goes on, slower, and nothing says so. They cost nothing where torch.compile is not called.
    Fix: unset the variable.
    Source: https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html
    https://github.com/pytorch/pytorch/blob/main/torch/_dynamo/config.py
    """
    yield from leftovers.found(COMPILE_OFF, facts, target)
