"""From a row of the variables' tables to a finding: one shape for all rules that name variables left set."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.facts.model import HELPS
from envdoctor.knowledge import messages
from envdoctor.knowledge.table import Rows
from envdoctor.knowledge.variables import CACHES_OFF, COMPILE_OFF, DEBUG, NCCL, PROFILERS, SETTINGS, Variable
from envdoctor.rules.hardware import trains_on_gpu
from envdoctor.rules.rule import Facts, Finding, Findings, Kind, Remedy, SetVariable, Severity, Target, need, remedies

__all__ = ["CACHES_OFF", "COMPILE_OFF", "DEBUG", "NCCL", "PROFILERS", "SETTINGS", "idle", "variable_findings"]


def variable_findings(rows: Rows[Variable], facts: Facts, target: Target, kind: Kind = "debug-variable") -> Findings:
    """One finding for each row whose variable is set to a value that acts."""
    variables, helps = need(facts.variables), messages.measures_told(facts, HELPS)
    for row in rows.among(variables):
        value = variables[row.name]
        if f"{row.name}={value}" in helps or not row.active(value):  # by the text the run goes with it: it stays
            continue
        idle = row.cuda and trains_on_gpu(facts, target) is False
        yield Finding(
            kind=kind,
            subject=row.name,
            actual=value,
            expected="not set",
            message=f"{row.name}={value}: {row.effect}" + (" (no effect on a CPU)." if idle else "."),
            remedy=remedy(row, target),
            severity=Severity.NOTE if idle else Severity[row.severity.upper()],
            source=row.source,
            repair=() if row.early else (SetVariable(name=row.name, value=None),),
        )


def remedy(row: Variable, target: Target) -> Remedy:
    """`unset`, and where to look: a variable that comes back was set in a shell profile, an image or a script."""
    text = "Unset it, and remove the line that sets it (shell profile, Dockerfile, launch script, os.environ in code)."
    if row.early:
        return Remedy(text=text, commands=(f"unset {row.name}",))
    return remedies.setting(target, text, f"unset {row.name}")


def idle(finding: Finding, where: str) -> Finding:
    """The same finding where the variable has nothing to act on."""
    message = f"{finding.message.rstrip('.')} (no effect with {where})."
    return replace(finding, severity=Severity.NOTE, message=message)
