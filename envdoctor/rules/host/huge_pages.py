from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def huge_pages(facts: Facts, target: Target) -> Iterator[Finding]:
    """Transparent huge pages are off.

    Why: with 4 KiB pages a large tensor in main memory needs very many translations; torch asks for huge pages
    where the kernel allows it (THP_MEM_ALLOC_ENABLE=1). It concerns training on the CPU; a GPU does not notice.
    Fix: "madvise", by the host's administrator.
    Source: https://docs.kernel.org/admin-guide/mm/transhuge.html
    https://docs.pytorch.org/docs/stable/torch_environment_variables.html
    """
    host = need(facts.host)
    if not target.is_cpu or target.name == "none":
        raise Skip("it concerns training on the CPU")
    if host.transparent_hugepages == "never":
        yield Finding(
            kind="host-limited",
            subject="huge pages",
            actual="never",
            expected="madvise or always",
            message="Transparent huge pages are off; large tensors in main memory take more address translations.",
            remedy=Remedy(
                text="Allow them (needs root on the host).",
                commands=("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",),
            ),
            who="host",
        )
