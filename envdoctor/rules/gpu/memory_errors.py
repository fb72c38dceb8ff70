from __future__ import annotations

from collections.abc import Iterator

from envdoctor.compat.renting import RELIABLE
from envdoctor.facts import Facts, Gpu
from envdoctor.rule import Finding, Remedy, Severity, Skip, need, rule
from envdoctor.rules.gpu._naming import full, subject
from envdoctor.target import Target


@rule(Severity.ERROR)
def memory_errors(facts: Facts, target: Target) -> Iterator[Finding]:
    """A GPU has memory errors that it could not correct, or rows that it could not replace.

    Why: an uncorrected error means that data was lost: the process dies, or trains on wrong numbers. After it the card
    wants to replace the row (or retire the page), which happens at the next reset; a failed replacement means that the
    card must be exchanged.
    Fix: reset the GPU when a replacement is pending, exchange it when one failed.
    Source: https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/ https://docs.nvidia.com/deploy/dynamic-page-retirement/
    """
    gpus = need(facts.gpus)
    fields = ("ecc_uncorrected", "rows_pending", "rows_failed", "retired_pending")
    if all(getattr(gpu, field) is None for gpu in gpus.devices for field in fields):
        raise Skip("memory errors were not read")
    for gpu in gpus.devices:
        if gpu.rows_failed:
            yield _finding(gpu, "a row could not be replaced", "Exchange the card.", "no failed row")
        elif gpu.ecc_uncorrected:
            count = gpu.ecc_uncorrected
            what = f"{count} uncorrected memory error{'s' if count > 1 else ''} since it was last reset"
            yield _finding(gpu, what, "Reset the GPU, and exchange it if they come back.", "0")
        elif gpu.rows_pending or gpu.retired_pending:
            unit = "row" if gpu.rows_pending else "page"
            what = f"a {unit} waits to be replaced at the next reset"
            yield _finding(gpu, what, "Reset the GPU.", "none pending", Severity.WARNING)


def _finding(gpu: Gpu, what: str, remedy: str, expected: str, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(
        kind="gpu-unhealthy",
        subject=subject(gpu),
        actual=what,
        expected=expected,
        message=f"{full(gpu)}: {what}.",
        remedy=Remedy(text=f"{remedy} {RELIABLE}", commands=(f"nvidia-smi -i {gpu.index} -q -d ECC,ROW_REMAPPER",)),
        who="host",
        severity=severity,
        root_rank=38 if severity is Severity.ERROR else 0,
    )
