from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.rules.network import _joined
from envdoctor.target import Target


@rule(Severity.WARNING)
def infiniband_unused(facts: Facts, target: Target) -> Iterator[Finding]:
    """InfiniBand is active, and NCCL uses sockets between machines.

    Why: the container lacks /dev/infiniband or the user libraries of the adapter, or memory may not be locked. NCCL
    falls back without an error.
    Fix: pass the devices into the container and lift the limit of locked memory.
    Source: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """
    network = need(facts.network)
    machines = _joined.nodes(facts) or 1
    active = [name for name, state in _joined.adapters(facts) if state == "active"]
    if machines < 2 or not active or not (network.transport or "").lower().startswith("socket"):
        return
    yield Finding(
        kind="slow-interconnect",
        subject=", ".join(active),
        actual="NCCL uses sockets",
        expected="NCCL uses InfiniBand",
        message=f"{', '.join(active)} is active, but NCCL sends between the machines through sockets.",
        remedy=Remedy(
            text="Give the container the adapter and let it lock memory; see why NCCL refuses it in its log.",
            commands=(
                "docker run --device=/dev/infiniband --cap-add=IPC_LOCK --ulimit memlock=-1 IMAGE",
                "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET torchrun ...",
            ),
        ),
        who="image",
        root_rank=12,
    )
