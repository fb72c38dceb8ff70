from envdoctor.rules.rule import WARNING, Facts, Findings, Gpus, Pattern, Target, known, rule
from envdoctor.rules.variables import _leftovers


@rule(WARNING)
def nccl(facts: Facts, target: Target) -> Findings:
    """NCCL is told not to use a fast path, or to talk.

    Why: NCCL_P2P_DISABLE and its kin are set to get past a hang, and stay: all traffic between GPUs then goes
    through host memory or plain sockets. With one GPU they do nothing.
    Fix: unset the variable; if the hang comes back, its cause is the host's (ACS, IOMMU, a driver older than
    550.40.07 on RTX 40).
    Source: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
    https://github.com/huggingface/accelerate/blob/main/src/accelerate/utils/environment.py
    https://github.com/hkust-nlp/simpleRL-reason/issues/63 https://github.com/NVIDIA/nccl/issues/631
    """
    gpus = known(facts.gpus)
    single = gpus is not None and gpus.number == 1 and not _several_nodes(facts)
    for finding in _leftovers.variable_findings(_leftovers.NCCL, facts, target):
        if finding.subject == "NCCL_P2P_DISABLE" and _without_peers(gpus):
            yield _leftovers.idle(finding, "GPUs that have no peer access")
            continue
        yield _leftovers.idle(finding, "one GPU") if single else finding


_NO_PEERS = Pattern(r"(?i)RTX\s?(?:40|50)[5-9]0")


def _without_peers(gpus: Gpus | None) -> bool:
    """The driver offers these cards no peer access, so that nothing is switched off."""
    return gpus is not None and bool(gpus.devices) and all(_NO_PEERS.search(gpu.name) for gpu in gpus.devices)


def _several_nodes(facts: Facts) -> bool:
    network, variables = known(facts.network), known(facts.variables) or {}
    nodes = [network.nodes if network else None, variables.get("NNODES"), variables.get("WORLD_SIZE")]
    return any(str(count or "1") not in ("1", "0", "") for count in nodes)
