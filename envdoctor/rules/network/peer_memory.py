from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.rules.network import _joined
from envdoctor.target import Target


@rule(Severity.WARNING)
def peer_memory(facts: Facts, target: Target) -> Iterator[Finding]:
    """Network adapters cannot reach GPU memory: the peer memory module is not loaded.

    Why: without nvidia_peermem (or DMA-BUF on kernels from 5.12 on) every transfer between machines is copied through
    host memory.
    Fix: the host loads the module.
    Source: https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html
    """
    network = need(facts.network)
    active = [name for name, state in _joined.adapters(facts) if state == "active"]
    if network.peer_memory is not False or not active:
        return
    machines = _joined.nodes(facts) or 1
    yield Finding(
        kind="slow-interconnect",
        subject="nvidia_peermem",
        actual="not loaded",
        expected="loaded",
        message="Network adapters cannot reach GPU memory: transfers between machines go through host memory.",
        remedy=Remedy(text="Load the module on the host.", commands=("sudo modprobe nvidia_peermem",)),
        who="host",
        severity=None if machines > 1 else Severity.NOTE,
    )
