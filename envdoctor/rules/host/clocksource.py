from envdoctor.rules.rule import WARNING, Facts, Findings, finding, need, rule

_SLOW = frozenset({"hpet", "acpi_pm", "xen", "jiffies", "refined-jiffies"})


@rule(WARNING, kind="host-limited", subject="clocksource", expected="tsc, kvm-clock or arch_sys_counter", who="host")
def clocksource(facts: Facts) -> Findings:
    """Reading the clock is slow on this machine.

    Why: with tsc or kvm-clock, reading the time is a handful of instructions; with hpet, acpi_pm or xen it is a
    system call and a slow device. torch, NCCL and every profiler read it thousands of times a second.
    Fix: the host's administrator chooses tsc; a kernel that gave it up does so for a reason.
    Source: https://docs.kernel.org/timers/timekeeping.html
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/manage-the-clock-source.html
    """
    word = need(facts.host).clocksource
    if word in _SLOW:
        yield finding(
            actual=word or "",
            message=f"The clock source is {word}: each reading of the time is a slow system call.",
            fix="Choose tsc (needs root on the host).",
            run="echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
        )
