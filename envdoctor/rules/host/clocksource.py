from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.target import Target

_SLOW = frozenset({"hpet", "acpi_pm", "xen", "jiffies", "refined-jiffies"})


@rule(Severity.WARNING)
def clocksource(facts: Facts, target: Target) -> Iterator[Finding]:
    """Reading the clock is slow on this machine.

    Why: with tsc or kvm-clock, reading the time is a handful of instructions; with hpet, acpi_pm or xen it is a
    system call and a slow device. torch, NCCL and every profiler read it thousands of times a second.
    Fix: the host's administrator chooses tsc; a kernel that gave it up does so for a reason.
    Source: https://docs.kernel.org/timers/timekeeping.html
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/manage-the-clock-source.html
    """
    word = need(facts.host).clocksource
    if word in _SLOW:
        yield Finding(
            kind="host-limited",
            subject="clocksource",
            actual=word or "",
            expected="tsc, kvm-clock or arch_sys_counter",
            message=f"The clock source is {word}: each reading of the time is a slow system call.",
            remedy=Remedy(
                text="Choose tsc (needs root on the host).",
                commands=("echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",),
            ),
            who="host",
            root_rank=2,
        )
