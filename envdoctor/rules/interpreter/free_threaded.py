from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import versions
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def free_threaded(facts: Facts, target: Target) -> Iterator[Finding]:
    """Python runs without its global lock.

    Why: single-threaded code is slower there (the documentation says about 40 % in 3.13, 5 to 10 % in 3.14), many
    packages have no wheels for it, and some switch the lock on again. A training loop is single-threaded Python
    that launches kernels.
    Fix: the ordinary build of the same version.
    Source: https://docs.python.org/3.13/howto/free-threading-python.html
    https://docs.python.org/3.14/howto/free-threading-python.html
    """
    interpreter = need(facts.interpreter)
    if not interpreter.free_threaded:
        return
    release = versions.release(interpreter.version)
    early = release is not None and release[:2] == (3, 13)
    yield Finding(
        kind="interpreter",
        subject="python",
        actual=f"free-threaded {interpreter.version}",
        expected="the build with the global lock",
        message=f"Python {interpreter.version} is the free-threaded build"
        + (": single-threaded code is about 40 % slower." if early else "; single-threaded code is somewhat slower."),
        remedy=Remedy(text="Use the ordinary build.", commands=("uv venv --python 3.12 .venv",)),
        severity=Severity.WARNING if early else None,
        root_rank=7 if early else 0,
    )
