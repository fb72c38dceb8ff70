from envdoctor.rules.network import _joined
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Remedy, finding, need, rule


@rule(WARNING, kind="slow-interconnect", expected="active", who="host")
def infiniband_down(facts: Facts) -> Findings:
    """An InfiniBand port is there and not active.

    Why: NCCL then takes another port or falls back to sockets, many times slower, with one line in its log. Ports
    that nobody cabled are normal on a single machine.
    Fix: the host must bring the link up (cable, subnet manager).
    Source: https://docs.nvidia.com/networking/display/ofedv521040/infiniband+fabric+utilities
    """
    need(facts.network)
    machines = _joined.nodes(facts) or 1
    ports = _joined.adapters(facts)
    down = [name for name, state in ports if state and state != "active"]
    if not down:
        return
    yield finding(
        subject=", ".join(down),
        actual="not active",
        severity=None if machines > 1 else NOTE,
        message=f"InfiniBand: {', '.join(down)} of {len(ports)} port{'s are' if len(ports) > 1 else ' is'} not active.",
        fix=Remedy(text="Have the link brought up, or leave the port out.", commands=("ibstat", "ibv_devinfo")),
    )
