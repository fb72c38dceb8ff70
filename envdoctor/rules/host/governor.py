from envdoctor.rules.rule import NOTE, Facts, Findings, finding, need, rule


@rule(NOTE, kind="host-limited", subject="governor", expected="performance", who="host")
def governor(facts: Facts) -> Findings:
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
        yield finding(
            actual=word,
            message=f"The CPU governor is {word}; the thread that launches kernels may run at a low clock.",
            fix="Switch it (root on the host).",
            run="cpupower frequency-set -g performance",
        )
