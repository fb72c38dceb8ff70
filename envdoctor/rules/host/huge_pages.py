from envdoctor.rules.rule import NOTE, Facts, Findings, Skip, Target, finding, need, rule


@rule(NOTE, kind="host-limited", subject="huge pages", expected="madvise or always", who="host")
def huge_pages(facts: Facts, target: Target) -> Findings:
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
        yield finding(
            actual="never",
            message="Transparent huge pages are off; large tensors in main memory take more address translations.",
            fix="Allow them (needs root on the host).",
            run="echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        )
