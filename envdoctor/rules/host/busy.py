from envdoctor.knowledge.questions import allowed_cpus
from envdoctor.rules.rule import NOTE, Facts, Findings, Skip, finding, need, rule

_PRESSURE = 20.0  # percent of the last ten seconds in which some task waited for a CPU; our choice
_LOAD = 1.5  # running tasks per allowed CPU; our choice


@rule(NOTE, kind="host-limited", subject="CPUs", expected="idle while measuring", who="host")
def busy(facts: Facts) -> Findings:
    """The CPUs are busy with something else right now.

    Why: while others use the CPUs, loaders and the thread that launches kernels wait, and a speed measured now
    says little. It passes: the environment is not at fault.
    Fix: wait, or find the neighbour.
    Source: https://docs.kernel.org/accounting/psi.html https://facebookmicrosites.github.io/psi/docs/overview
    """
    if facts.origin.kind != "probe":
        raise Skip("a report of the past does not say what is busy now")
    host = need(facts.host)
    cpus = allowed_cpus(host)
    pressed = host.pressure_cpu is not None and host.pressure_cpu > _PRESSURE
    loaded = host.pressure_cpu is None and host.load is not None and cpus is not None and host.load > cpus * _LOAD
    if not pressed and not loaded:
        return
    actual = f"{host.pressure_cpu:.0f} % pressure" if pressed else f"load {host.load:.1f} on {cpus:g} CPUs"
    yield finding(
        actual=actual,
        message=f"Other work keeps the CPUs busy ({actual}); a speed measured now is too low.",
        fix="Wait for it, or look for it.",
        run="top -b -n 1 -o %CPU | head -20",
    )
