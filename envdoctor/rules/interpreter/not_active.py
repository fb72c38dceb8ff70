from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def not_active(facts: Facts, target: Target) -> Iterator[Finding]:
    """The environment examined is not the one that is active in this shell.

    Why: `python` in this shell starts another environment than the one judged here.
    Fix: activate it, or name the active one with --env.
    Source: https://docs.python.org/3/library/venv.html#how-venvs-work
    """
    interpreter = need(facts.interpreter)
    active, examined = interpreter.active_environment, interpreter.prefix
    if not active or not examined or _same(active, examined):
        return
    yield Finding(
        kind="interpreter",
        subject="active environment",
        actual=active,
        expected=examined,
        message=f"{examined} was examined, but {active} is active in this shell.",
        remedy=Remedy(text="Activate the environment.", commands=(f"source {examined}/bin/activate",)),
    )


def _same(one: str, other: str) -> bool:
    return one.replace("\\", "/").rstrip("/") == other.replace("\\", "/").rstrip("/")
