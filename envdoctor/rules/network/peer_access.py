from envdoctor.rules.network import _joined
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Pattern, Remedy, Skip, finding, known, rule

_SAYS = Pattern(
    r"(?i)(?<![\w=])(?<!\bif )(?<!\bwith )(?<!\bwhen )(?:p2p|peer[- ]to[- ]peer|peer access)\b(?!.{0,30}\b(?:works"
    r"|enabled|ok)\b).{0,60}"
    r"\b(?:disabled|not (?:supported|available|possible|enabled|working)|unavailable|unsupported|off|false|fails)\b"
    r"|cudaDeviceCanAccessPeer.{0,20}(?:0|false)|without (?:p2p|peer access)"
    r"|could not enable P2P between|\bACS (?:is )?(?:on|enabled|active)\b"
    r"|\b(?:two|three|four|eight|[2-9]) (?:GPUs|cards) (?:are |is |run )?.{0,24}slower than (?:one|1|a single)\b",
)
_CONSUMER = Pattern(r"(?i)GeForce|TITAN|RTX\s?[2-5]0\d0|GTX")


@rule(WARNING, kind="slow-interconnect", subject="peer access", expected="every GPU reads every other")
def peer_access(facts: Facts) -> Findings:
    """GPUs of this machine cannot read each other's memory.

    Why: all traffic between them is then copied through host memory, several times slower. The driver offers GeForce
    cards no peer access without NVLink, which is as it should be; on data-center cards ACS, an IOMMU or a virtual
    machine stands in the way. In a virtual machine whose cards have no NVLink nobody but the cloud could open it: there
    it is a note.
    Fix: the host; or train on one GPU, or with few large messages (larger accumulation).
    Source: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    https://cortwave.github.io/posts/multi-gpu/
    """
    gpus = known(facts.gpus)
    remarks = (f"{key}: {value}" for key, value in facts.remarks.items())
    said = next((line for line in (*facts.messages, *remarks) if _SAYS.search(line)), None)
    if said is not None and _joined.gpu_count(facts) != 1:
        yield from _from_report(said)
        return
    if gpus is None or len(gpus.peer_access) < 2:
        raise Skip("peer access between GPUs is not known")
    closed = [(one, other) for one, other, is_open in _joined.pairs(gpus.peer_access) if not is_open]
    if not closed:
        return
    pairs = len(gpus.peer_access) * (len(gpus.peer_access) - 1) // 2
    consumer = any(_CONSUMER.search(gpu.name) for gpu in gpus.devices)
    rented = all(gpu.virtual and not gpu.nvlinks and "SXM" not in gpu.name for gpu in gpus.devices)
    reason = ": the driver does not offer it for these cards" if consumer else ""
    yield finding(
        actual=f"{len(closed)} of {pairs} pairs closed",
        severity=NOTE if consumer or rented else None,
        who="you" if consumer else "host",
        message=f"{len(closed)} of {pairs} pairs of GPUs cannot reach each other directly{reason}.",
        fix=Remedy(text=_EXPECT_IT if consumer else f"{_ASK_THE_HOST}.", commands=("nvidia-smi topo -p2p r",)),
    )


_EXPECT_IT = "Expect slow traffic between these GPUs: accumulate more steps between reductions."
_ASK_THE_HOST = "Have the host check ACS, IOMMU and the virtual machine's settings"
_STOPS = Pattern(
    r"(?i)peer access is not supported|P2P\)? access (?:is )?not supported|failure 217"
    r"|doesn't support faster communication",
)


def _from_report(said: str) -> Findings:
    text = f"The GPUs cannot reach each other directly: {said}."
    if not _STOPS.search(said):
        yield finding(actual=said, who="host", message=text, fix=_CHECK)
        return
    yield finding(
        actual=said,
        severity=ERROR,
        message=text,
        usually=_KEPT_APART,
        fix=_GO_WITHOUT,
        explains=("variables/nccl",),
    )


_CHECK = Remedy(
    text=f"{_ASK_THE_HOST}; expect slow traffic until then.",
    commands=("nvidia-smi topo -p2p r", "lspci -vvv | grep -i acsctl"),
)
_KEPT_APART = (
    "they are cards for games without NVLink, a virtual machine or MIG keeps them apart, or ACS or an IOMMU stands "
    "between them"
)
_GO_WITHOUT = Remedy(
    text="Set NCCL_P2P_DISABLE=1 where every worker gets it (before ray start, in the launcher, in the image), and "
    "expect slow traffic; or have the host check ACS, IOMMU and the virtual machine's settings.",
    commands=("export NCCL_P2P_DISABLE=1", "nvidia-smi topo -p2p r"),
)
