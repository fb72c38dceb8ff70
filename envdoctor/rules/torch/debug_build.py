from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, need, rule
from envdoctor.target import Target


@rule(Severity.WARNING)
def debug_build(facts: Facts, target: Target) -> Iterator[Finding]:
    """torch was built for debugging.

    Why: a debug build checks on every call and is not optimised; operators on the CPU run several times slower, and
    launching kernels takes longer. Old releases said "Is debug build: True" of ordinary wheels; those are left alone.
    Fix: install a release build.
    Source: https://github.com/pytorch/pytorch/blob/main/CONTRIBUTING.md (DEBUG=1)
    https://github.com/pytorch/pytorch/issues/74733 (a 1.7.0 wheel that says so)
    """
    torch = need(facts.torch)
    if torch.debug_build is None:
        raise Skip("torch does not say how it was built")
    if not torch.debug_build or torch.version.startswith(("1.6", "1.7")):
        return
    yield Finding(
        kind="known-slow-version",
        subject="torch",
        actual="debug build",
        expected="release build",
        message=f"torch {torch.version} is a debug build: every operator checks itself.",
        # Whoever reports a debug build made from source made it on purpose.
        severity=Severity.NOTE if facts.origin.kind == "pasted" and "a0+" in torch.version else None,
        remedy=Remedy(
            text="Install a release build of torch.", commands=("python -m pip install --force-reinstall torch",)
        ),
    )
