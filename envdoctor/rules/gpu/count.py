from __future__ import annotations

from collections.abc import Iterator

from envdoctor.compat.machine import in_container
from envdoctor.compat.renting import RELIABLE
from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, need, rule
from envdoctor.target import Target


@rule(Severity.ERROR)
def count(facts: Facts, target: Target) -> Iterator[Finding]:
    """Fewer GPUs answer than are there, or than the target was recorded with.

    Why: a card that is on the PCI bus and that the driver does not list has failed (it "fell off the bus"), and every
    launch with the full number of processes fails. Inside a container the bus shows the whole host, of which only a
    part may be meant for it: there only the numbers handed to the container count.
    Fix: reset or exchange the card: the host's.
    Source: https://docs.nvidia.com/deploy/xid-errors/ (79); azure_gpu_count.nhc
    """
    gpus, driver = need(facts.gpus), known(facts.driver)
    listed = gpus.count if gpus.count is not None else len(gpus.devices)
    if not gpus.devices or facts.origin.kind == "pasted":
        raise Skip("no GPU is listed, or the list is a report's")
    on_bus = len(driver.pci) if driver and not in_container(facts) else 0
    files = len(driver.devices) if driver else 0
    there = max(on_bus, files)
    if there > listed:
        yield Finding(
            kind="gpu-unhealthy",
            subject="GPUs",
            actual=f"{listed} answer",
            expected=f"{there}, as on the PCI bus" if on_bus >= files else f"{there}, as there are device files",
            message=f"{listed} of {there} GPUs answer: {'a card has' if there - listed == 1 else 'cards have'} failed.",
            remedy=Remedy(
                text=f"The host must reset or exchange it. {RELIABLE}",
                commands=("nvidia-smi -L", "lspci -d 10de: -nn", "dmesg | grep -i xid"),
            ),
            who="host",
            # A device file proves that the driver had taken the card; on the bus it may be one that it never served.
            severity=None if files > listed else Severity.WARNING,
            root_rank=41 if files > listed else 0,
        )
    wanted = target.conditions.get("gpus")
    if isinstance(wanted, int) and listed < wanted:
        yield Finding(
            kind="gpu-limited",
            subject="GPUs",
            actual=str(listed),
            expected=str(wanted),
            message=f"The target was recorded on {wanted} GPUs; {listed} {'is' if listed == 1 else 'are'} here.",
            remedy=Remedy(text="Compare speeds per GPU."),
            severity=Severity.NOTE,
        )
