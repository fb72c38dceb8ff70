from envdoctor.rules.network import _joined
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, finding, need, rule


@rule(WARNING, kind="slow-interconnect", subject="nvidia_peermem", expected="loaded", who="host")
def peer_memory(facts: Facts) -> Findings:
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
    yield finding(
        actual="not loaded",
        severity=None if machines > 1 else NOTE,
        message="Network adapters cannot reach GPU memory: transfers between machines go through host memory.",
        fix="Load the module on the host.",
        run="sudo modprobe nvidia_peermem",
    )
