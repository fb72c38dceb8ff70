from envdoctor.rules.network import _joined
from envdoctor.rules.rule import WARNING, Facts, Findings, Pattern, Remedy, finding, known, messages, need, rule

SLOW = 25_000
"""Mbit/s. Gathering 14 GB of bf16 weights (7 B parameters) over 25 Gbit/s takes 4.5 s, for each forward pass and again
for each backward pass (arithmetic)."""
_SAYS = Pattern(
    r"(?i)slower (?:than )?(?:on |with |in )?(?:a |one |1 )?single[- ](?:node|machine|computer|server)"
    r"|(?:nodes|machines|servers)\b.{0,60}\bslower than (?:on |with )?(?:a |one |1)",
)


@rule(WARNING, kind="slow-interconnect", subject="network", who="host")
def slow_nodes(facts: Facts) -> Findings:
    """Machines of one run are joined by plain sockets or a slow network card.

    Why: every step moves gradients between the machines, and ZeRO-3 or FSDP move all parameters as well. Over
    10 Gbit/s Ethernet, through a container's overlay network even more, the GPUs wait most of the time.
    Fix: keep the sharding inside a machine (ZeRO-1, HSDP), use the host's network, or get an RDMA link.
    Source: https://github.com/hiyouga/LlamaFactory/issues/5014
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-ib-disable
    """
    machines = _joined.nodes(facts)
    said = messages.anywhere(facts, _SAYS)
    if said is not None and machines is None:
        machines = 2
    machines = need(machines, "the number of machines is not known")
    network = known(facts.network)
    if machines < 2 or (network is None and said is None):
        return
    rdma = any(state == "active" for _, state in _joined.adapters(facts))
    speed = _joined.fastest(facts)
    sockets = ((network.transport if network else None) or "").lower().startswith("socket")
    if rdma and not sockets:
        return
    slow = speed is not None and speed <= SLOW
    if not (slow or said is not None or (sockets and (speed is None or slow))):
        return
    link = f"{speed // 1000} Gbit/s" if speed else "a network of unknown speed"
    link += " through plain sockets" if sockets else ""
    sharding = _joined.why_sharded(facts)
    load = f"{sharding} gathers all parameters" if sharding else "every step sends all gradients"
    yield finding(
        actual=link,
        expected="RDMA (InfiniBand, RoCE), or little traffic between machines",
        message=f"{machines} machines are joined by {link}, and {load} over it{' in every step' if sharding else ''}.",
        fix=_LESS_TRAFFIC,
    )


_LESS_TRAFFIC = Remedy(
    text="Keep the sharding inside a machine or drop it (ZeRO-1, HSDP, DDP with LoRA), give containers the host's "
    "network, or use machines with an RDMA link.",
    commands=("docker run --network=host IMAGE", "NCCL_DEBUG=INFO torchrun ...   # look for NET/IB or NET/Socket"),
)
