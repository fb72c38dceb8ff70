from envdoctor.rules.network import _joined
from envdoctor.rules.rule import WARNING, Facts, Findings, Remedy, finding, need, rule


@rule(WARNING, kind="slow-interconnect", expected="NCCL uses InfiniBand", who="image")
def infiniband_unused(facts: Facts) -> Findings:
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
    yield finding(
        subject=", ".join(active),
        actual="NCCL uses sockets",
        message=f"{', '.join(active)} is active, but NCCL sends between the machines through sockets.",
        fix=_HAND_OVER,
    )


_HAND_OVER = Remedy(
    text="Give the container the adapter and let it lock memory; see why NCCL refuses it in its log.",
    commands=(
        "docker run --device=/dev/infiniband --cap-add=IPC_LOCK --ulimit memlock=-1 IMAGE",
        "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET torchrun ...",
    ),
)
