from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def startup_hook(facts: Facts, target: Target) -> Iterator[Finding]:
    """envdoctor's startup hook is in force in this environment.

    Why: flags and variables are set right after `import torch`, in every program that runs here. Whoever wonders where
    a setting comes from should know.
    Fix: `envdoctor undo` takes it out again.
    Source: `envdoctor fix` put it there.
    """
    torch = need(facts.torch)
    if not torch.hook:
        return
    yield Finding(
        kind="no-effect",
        subject="startup hook",
        actual=torch.hook,
        expected="known to you",
        message=f"envdoctor's startup hook {torch.hook} sets flags and variables whenever torch is imported here.",
        remedy=Remedy(text="Nothing to do; it can be taken out again.", commands=("envdoctor undo",)),
    )
