from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, need, rule
from envdoctor.target import Target

_PROCESS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@rule(Severity.NOTE)
def launcher_leftovers(facts: Facts, target: Target) -> Iterator[Finding]:
    """Variables that a launcher sets for each rank are set in this shell.

    Why: RANK, WORLD_SIZE and MASTER_ADDR tell a process that it is one of several. In a plain shell they make a
    single run wait for ranks that never come, or disable what libraries do only on one process.
    Fix: unset them; torchrun and accelerate set their own.
    Source: https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables
    """
    if facts.origin.kind == "pasted":
        raise Skip("a report may come from inside a launched rank")
    variables = need(facts.variables)
    found = [name for name in _PROCESS if variables.get(name)]
    launched = any(name.startswith(("TORCHELASTIC_", "SLURM_")) for name in variables)
    if {"RANK", "WORLD_SIZE"} <= set(found) and not launched:
        yield Finding(
            kind="config-mismatch",
            subject="RANK",
            actual=", ".join(f"{name}={variables[name]}" for name in found),
            expected="set by a launcher only",
            message=f"{', '.join(found)} are set in this shell: a single run waits for other ranks.",
            remedy=Remedy(text="Unset them.", commands=("unset " + " ".join(found),)),
        )
