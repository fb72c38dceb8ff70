from envdoctor.rules.network import _joined
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Skip, finding, known, need, rule


@rule(WARNING, kind="slow-interconnect", subject="PCIe ACS", expected="off", who="host")
def acs(facts: Facts) -> Findings:
    """PCIe access control sends traffic between GPUs through the root complex.

    Why: with ACS (or a translating IOMMU) direct transfers between GPUs are redirected; NCCL becomes several times
    slower, or hangs. GPUs that are joined by NVLink are not touched.
    Fix: the host switches ACS off in its firmware or with setpci, and the IOMMU to pass-through. In a virtual machine
    it cannot be switched off.
    Source: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#pci-access-control-services-acs
    """
    network = need(facts.network)
    count = _joined.gpu_count(facts)
    if network.acs is None and network.iommu is None:
        raise Skip("whether access control is on is not known")
    if count is not None and count < 2:
        return
    if not network.acs:
        return
    linked = _all_nvlink(facts)
    text = "PCIe access control is on: traffic between the GPUs takes the way through the root complex."
    yield finding(
        actual="on, IOMMU on" if network.iommu else "on",
        message=f"{text} They are joined by NVLink, which it does not touch." if linked else text,
        fix="Have the host switch ACS off and the IOMMU to pass-through (kernel parameter iommu=pt).",
        run=("lspci -vvv | grep -i acsctl", "nvidia-smi topo -p2p r"),
        severity=None if count is not None and not linked else NOTE,
    )


def _all_nvlink(facts: Facts) -> bool:
    gpus = known(facts.gpus)
    words = [word for row in gpus.topology for word in row if word != "X"] if gpus else []
    return bool(words) and all(word.startswith("NV") for word in words)
