from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge.hardware import trains_on_gpu
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.ERROR)
def launcher_on_cpu(facts: Facts, target: Target) -> Iterator[Finding]:
    """The launcher's saved configuration keeps training on the CPU.

    Why: accelerate's default configuration is asked once and forgotten. With use_cpu it hides every GPU from what it
    launches, and nothing is printed.
    Fix: use_cpu: false.
    Source: https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-config
    """
    settings = need(facts.launcher).settings
    if settings.get("use_cpu", "").lower() not in ("true", "yes", "1") or trains_on_gpu(facts, target) is not True:
        return
    yield Finding(
        kind="config-mismatch",
        subject="use_cpu",
        actual=settings["use_cpu"],
        expected="False",
        message="accelerate's configuration says use_cpu, so training stays on the CPU although there is a GPU.",
        remedy=Remedy(
            text="Answer the configuration's questions again, or set use_cpu to false in it.",
            commands=("accelerate config default", "accelerate launch train.py"),
        ),
        root_rank=30,
    )
