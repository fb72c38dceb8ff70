from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def governor(facts: Facts, target: Target) -> Iterator[Finding]:
    """The CPUs' frequency governor saves power.

    Why: "powersave" holds the clock at its lowest under the old cpufreq drivers, where Python between kernels
    takes twice as long. Under intel_pstate and amd-pstate the same word means "as needed" and costs little; the
    name alone does not say which.
    Fix: the performance governor, by the host's administrator.
    Source: https://docs.kernel.org/admin-guide/pm/cpufreq.html
    https://docs.kernel.org/admin-guide/pm/intel_pstate.html
    https://github.com/facebookresearch/gcm/blob/main/gcm/health_checks/checks/check_processor.py
    """
    word = need(facts.host).governor
    if word in ("powersave", "conservative"):
        yield Finding(
            kind="host-limited",
            subject="governor",
            actual=word,
            expected="performance",
            message=f"The CPU governor is {word}; the thread that launches kernels may run at a low clock.",
            remedy=Remedy(text="Switch it (root on the host).", commands=("cpupower frequency-set -g performance",)),
            who="host",
        )
