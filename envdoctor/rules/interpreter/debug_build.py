from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.WARNING)
def debug_build(facts: Facts, target: Target) -> Iterator[Finding]:
    """Python was built with its debugging checks.

    Why: --with-pydebug checks reference counts and every allocation; the documentation advises it for debugging
    only. Everything that Python does between kernels is slower. It also needs packages built for it.
    Fix: an ordinary Python.
    Source: https://docs.python.org/3/using/configure.html#debug-build
    """
    interpreter = need(facts.interpreter)
    if interpreter.debug_build:
        yield Finding(
            kind="interpreter",
            subject="python",
            actual="debug build",
            expected="release build",
            message=f"Python {interpreter.version} is a debug build: all Python code is slower.",
            remedy=Remedy(text="Use an ordinary Python.", commands=("uv venv --python 3.12 .venv",)),
            root_rank=14,
        )
