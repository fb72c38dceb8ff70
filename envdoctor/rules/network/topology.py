from envdoctor.rules.network import _joined
from envdoctor.rules.rule import NOTE, Facts, Findings, Skip, finding, need, rule


@rule(NOTE, kind="slow-interconnect", subject="topology", expected="neighbouring GPUs for a job that needs only some")
def topology(facts: Facts) -> Findings:
    """Some GPUs reach each other only across CPU sockets.

    Why: "SYS" crosses the link between two CPUs, the slowest way inside a machine; a job on two such GPUs is slower
    than on two behind one switch.
    Fix: choose neighbouring GPUs with CUDA_VISIBLE_DEVICES when not all are needed.
    Source: https://docs.nvidia.com/multi-node-nvlink-systems/multi-node-tuning-guide/overview.html
    """
    gpus = need(facts.gpus)
    if len(gpus.topology) < 2:
        raise Skip("how the GPUs are joined is not known")
    pairs = _joined.pairs(gpus.topology)
    far = [(one, other) for one, other, word in pairs if word in ("SYS", "SOC")]
    if not far:
        return
    near = [(one, other) for one, other, word in pairs if word.startswith("NV") or word in ("PIX", "PXB")]
    listed = ", ".join(f"{one}-{other}" for one, other in far[:6]) + (" ..." if len(far) > 6 else "")
    yield finding(
        actual=f"{len(far)} pairs across CPU sockets ({listed})",
        message=f"GPU pairs {listed} are joined across CPU sockets.",
        fix="When a job needs only some of the GPUs, give it neighbours.",
        run=f"CUDA_VISIBLE_DEVICES={near[0][0]},{near[0][1]}" if near else "nvidia-smi topo -m",
    )
