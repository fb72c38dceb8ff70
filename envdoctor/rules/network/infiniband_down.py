from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.rules.network import _joined
from envdoctor.target import Target


@rule(Severity.WARNING)
def infiniband_down(facts: Facts, target: Target) -> Iterator[Finding]:
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
    yield Finding(
        kind="slow-interconnect",
        subject=", ".join(down),
        actual="not active",
        expected="active",
        message=f"InfiniBand: {', '.join(down)} of {len(ports)} port{'s are' if len(ports) > 1 else ' is'} not active.",
        remedy=Remedy(text="Have the link brought up, or leave the port out.", commands=("ibstat", "ibv_devinfo")),
        who="host",
        severity=None if machines > 1 else Severity.NOTE,
    )
