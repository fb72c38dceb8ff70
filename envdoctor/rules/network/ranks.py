from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, rule
from envdoctor.rules.network import _joined
from envdoctor.target import Target


@rule(Severity.ERROR)
def ranks(facts: Facts, target: Target) -> Iterator[Finding]:
    """More processes are started on this machine than it has GPUs.

    Why: two ranks on one GPU make NCCL stop ("Duplicate GPU detected"), or share the card and its memory.
    Fix: one process per GPU.
    Source: https://docs.pytorch.org/docs/stable/elastic/run.html
    """
    started = _joined.ranks_here(facts)
    count = _joined.gpu_count(facts)
    if started is None or not count:
        raise Skip("the number of processes or of GPUs is not known")
    number, source = started
    visible = _joined.variables(facts).get("CUDA_VISIBLE_DEVICES")
    if visible:
        count = min(count, len([part for part in visible.split(",") if part.strip()]))
    if _joined.settings(facts).get("use_cpu", "").lower() == "true" or number <= count or not count:
        return
    yield Finding(
        kind="config-mismatch",
        subject="processes",
        actual=f"{number} processes ({source})",
        expected=f"{count}, one per GPU",
        message=f"{number} processes are started for {count} GPU{'s' if count > 1 else ''}: ranks would share a GPU.",
        remedy=Remedy(text="Start one process per GPU.", commands=(f"torchrun --nproc_per_node={count} train.py",)),
        root_rank=20,
    )
