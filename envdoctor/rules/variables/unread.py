from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge.unread_variables import UNREAD
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def unread(facts: Facts, target: Target) -> Iterator[Finding]:
    """A variable is set that no library reads.

    Why: names like TORCH_CUDNN_BENCHMARK circulate in launch files and promise a switch that does not exist;
    torch's binaries do not contain them. What they were meant to set is not set.
    Fix: the setting that exists.
    Source: https://docs.pytorch.org/docs/stable/torch_environment_variables.html (strings of torch 2.13 searched:
    none found)
    """
    variables = need(facts.variables)
    for name, instead in sorted(UNREAD.items()):
        if name in variables:
            yield Finding(
                kind="no-effect",
                subject=name,
                actual=variables[name],
                expected=instead,
                message=f"No library reads {name}; what exists is {instead}.",
                remedy=Remedy(text=f"Remove it, and use {instead}.", commands=(f"unset {name}",)),
            )
