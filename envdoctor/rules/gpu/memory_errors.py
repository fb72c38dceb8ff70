from envdoctor.rules.gpu._cards import RELIABLE, full, subject
from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, Gpu, Remedy, Skip, finding, need, rule


@rule(ERROR, kind="gpu-unhealthy", who="host")
def memory_errors(facts: Facts) -> Findings:
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
            yield _finding(gpu, what, "Reset the GPU.", "none pending", lost=False)


def _finding(gpu: Gpu, what: str, remedy: str, expected: str, *, lost: bool = True) -> Finding:
    return finding(
        subject=subject(gpu),
        actual=what,
        expected=expected,
        severity=ERROR if lost else WARNING,
        message=f"{full(gpu)}: {what}.",
        fix=Remedy(text=f"{remedy} {RELIABLE}", commands=(f"nvidia-smi -i {gpu.index} -q -d ECC,ROW_REMAPPER",)),
    )
