from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def externally_managed(facts: Facts, target: Target) -> Iterator[Finding]:
    """This is the operating system's Python, which pip may not change.

    Why: distributions mark their Python as managed by their own packages; pip refuses to install into it, and a
    change of ours would fight with the system's.
    Fix: a virtual environment.
    Source: https://packaging.python.org/en/latest/specifications/externally-managed-environments/
    """
    interpreter = need(facts.interpreter)
    if interpreter.externally_managed and not interpreter.is_virtual:
        yield Finding(
            kind="interpreter",
            subject="python",
            actual=interpreter.executable or "the system's Python",
            expected="a virtual environment",
            message="This Python is managed by the operating system; pip refuses to change it.",
            remedy=Remedy(
                text="Work in a virtual environment.",
                commands=("uv venv --python 3.12 .venv", "source .venv/bin/activate"),
            ),
        )
