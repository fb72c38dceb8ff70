from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, need, rule
from envdoctor.target import Target

_CONSUMER = re.compile(r"GeForce|TITAN|RTX\s?[2-5]0\d0|GTX", re.IGNORECASE)


@rule(Severity.WARNING)
def peer_access(facts: Facts, target: Target) -> Iterator[Finding]:
    """GPUs of this machine cannot read each other's memory.

    Why: all traffic between them is then copied through host memory, several times slower. The driver offers GeForce
    cards no peer access without NVLink, which is as it should be; on data-center cards ACS, an IOMMU or a virtual
    machine stands in the way.
    Fix: the host; or train on one GPU, or with few large messages (larger accumulation).
    Source: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    https://cortwave.github.io/posts/multi-gpu/
    """
    gpus = need(facts.gpus)
    if len(gpus.peer_access) < 2:
        raise Skip("peer access between GPUs is not known")
    closed = [
        (one, other)
        for one, row in enumerate(gpus.peer_access)
        for other, open_ in enumerate(row)
        if one < other and not open_
    ]
    if not closed:
        return
    pairs = len(gpus.peer_access) * (len(gpus.peer_access) - 1) // 2
    consumer = any(_CONSUMER.search(gpu.name) for gpu in gpus.devices)
    yield Finding(
        kind="slow-interconnect",
        subject="peer access",
        actual=f"{len(closed)} of {pairs} pairs closed",
        expected="every GPU reads every other",
        message=f"{len(closed)} of {pairs} pairs of GPUs cannot reach each other directly"
        + (": the driver does not offer it for these cards." if consumer else "."),
        remedy=Remedy(
            text="Expect slow traffic between these GPUs: accumulate more steps between reductions."
            if consumer
            else "Have the host check ACS, IOMMU and the virtual machine's settings.",
            commands=("nvidia-smi topo -p2p r",),
        ),
        who="you" if consumer else "host",
        severity=Severity.NOTE if consumer else None,
    )
