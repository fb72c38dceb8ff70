from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def other_vendors(facts: Facts, target: Target) -> Iterator[Finding]:
    """There is an AMD or Intel GPU, which is not judged.

    Why: drivers, builds, flags and speeds of ROCm and XPU follow other rules; nothing here says that they are well.
    Fix: nothing.
    Source: https://rocm.docs.amd.com and https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html
    """
    driver = need(facts.driver)
    for name in driver.other_accelerators:
        yield Finding(
            kind="not-judged",
            subject=name,
            actual="present",
            expected="an NVIDIA GPU or a CPU",
            message=f"{name} is not judged: envdoctor knows NVIDIA GPUs and CPUs.",
            remedy=Remedy(text="Nothing to do."),
        )
