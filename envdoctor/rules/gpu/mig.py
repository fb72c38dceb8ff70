from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, need, rule
from envdoctor.rules.gpu._naming import full, subject
from envdoctor.target import Target


@rule(Severity.WARNING)
def mig(facts: Facts, target: Target) -> Iterator[Finding]:
    """A GPU is divided by MIG.

    Why: one process gets one slice: a seventh to a half of the multiprocessors and memory, and no peer access between
    slices, so NCCL cannot join them. Speeds of the whole card do not apply.
    Fix: rent a whole GPU, or switch MIG off on the host.
    Source: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """
    gpus = need(facts.gpus)
    torch = known(facts.torch)
    if all(gpu.mig is None for gpu in gpus.devices) and not any("MIG" in gpu.name for gpu in gpus.devices):
        raise Skip("the MIG mode was not read")
    for gpu in gpus.devices:
        if not gpu.mig and " MIG " not in f"{gpu.name} ":
            continue
        yield Finding(
            kind="gpu-limited",
            subject=subject(gpu),
            actual="MIG on",
            expected="a whole GPU",
            message=f"{full(gpu)} is divided by MIG: a process sees one slice of it"
            + (f" (torch sees {torch.device_count} device)." if torch and torch.device_count == 1 else "."),
            remedy=Remedy(
                text="Rent a whole GPU, or switch MIG off on the host.",
                commands=(f"sudo nvidia-smi -i {gpu.index} -mig 0",),
            ),
            who="host",
            # A report of a slice is no complaint about it; `network/mig-ranks` speaks up when ranks cannot be joined.
            severity=Severity.NOTE if facts.origin.kind == "pasted" else None,
        )
