from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import messages
from envdoctor.knowledge.hardware import mebibytes
from envdoctor.pattern import Pattern
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, rule
from envdoctor.target import Target

_ENOUGH = 1 << 30  # NCCL's and UCX's guides ask for "unlimited"; a GiB holds their buffers
_SAYS = (Pattern(r"ibv_reg_mr|ibv_create_qp|ibv_create_cq.*cannot allocate memory", re.IGNORECASE),)


@rule(Severity.WARNING)
def locked_memory(facts: Facts, target: Target) -> Iterator[Finding]:
    """Little memory may be locked, which InfiniBand needs.

    Why: RDMA registers its buffers as locked memory. Under a container's default limit the registration fails,
    and NCCL stops or falls back to sockets. Without InfiniBand the limit does not matter.
    Fix: start the container without the limit.
    Source: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    https://docs.docker.com/reference/cli/docker/container/run/#ulimit
    """
    host, network = known(facts.host), known(facts.network)
    said = messages.matched(facts, *_SAYS)
    limit = host.locked_memory if host else None
    if said is None and (limit is None or network is None):
        raise Skip("the limit, or whether there is InfiniBand, is not known")
    small = limit is not None and 0 <= limit < _ENOUGH and network is not None and bool(network.infiniband)
    if said is None and not small:
        return
    yield Finding(
        kind="slow-interconnect",
        subject="locked memory",
        actual=mebibytes(limit) if limit is not None and limit >= 0 else said.string if said else "",
        expected="unlimited",
        message=f"InfiniBand could not lock its memory: {said.string}."
        if said
        else f"Only {mebibytes(limit or 0)} may be locked; InfiniBand needs more, and NCCL may fall back to sockets.",
        remedy=Remedy(text="Start the container without it.", commands=("docker run --ulimit memlock=-1 IMAGE",)),
        who="image",
        severity=Severity.ERROR if said else None,
        root_rank=13 if said else 4,
    )
