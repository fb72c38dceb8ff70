from collections.abc import Iterator

from envdoctor.knowledge.questions import Numbers, numbers, torch_version, versions
from envdoctor.rules.finding import NOTE, WARNING, Finding, Findings, Pin, Repair, SetFlag, SetVariable, finding
from envdoctor.rules.hardware import Capability
from envdoctor.rules.rule import Facts, Skip, Target, known, likely_capabilities, need, remedies, rule, trains_on_gpu

# Speed of cuDNN's attention kernels relative to flash, by compute capability: huggingface/transformers#48163
_MEASURED = {(8, 0): 0.82, (8, 6): 0.93}
# What torch itself puts first, once, at a process's first attention: on these GPUs, since this release, from this cuDNN
# on (2.11 is the first to bring one along); an order set before is lost, unless the variable says exactly 1. Read in
# pytorch, aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, check_prefer_cudnn_attention.
_CHOSEN_ON = frozenset({(9, 0), (10, 0), (10, 3)})
_CHOSEN_SINCE = "2.10"
_CHOSEN_FROM = (9, 15, 1)
_VARIABLE = "TORCH_CUDNN_SDPA_DEPRIORITIZED"
_MENDED = (9, 26)
_FLASH_FIRST = "flash,efficient,math,cudnn"
_HOPPER = (9, 0)
_BLACKWELL = (10, 0)


@rule(WARNING, kind="flag-differs", subject="sdp", expected=_FLASH_FIRST)
def cudnn_first(facts: Facts, target: Target) -> Findings:
    """cuDNN's attention comes first where it is wrong or slower.

    Why: with cuDNN 9.15.1 or later, which torch 2.11 is the first to bring along, torch tries cuDNN's attention first
    on Hopper and on Blackwell for data centers; it sets that order at the first attention, over any set before. Before
    cuDNN 9.26 its backward gives NaN gradients on Hopper when a mask is passed, the length leaves 64 of 128, and scores
    are very low: preference training met it. On B200 one open report tells of garbled generation by models with fewer
    than 8 key-value heads. Elsewhere the order is a matter of speed: its attention kernels were measured 1.7 to 2.3
    times as fast as flash on Hopper, at 0.82 of flash's speed on A100 and 0.93 on A10G; a whole step gains or loses far
    less.
    Fix: cuDNN 9.26, or flash first: TORCH_CUDNN_SDPA_DEPRIORITIZED=1, or torch.backends.cuda.enable_cudnn_sdp(False).
    Source: https://github.com/pytorch/pytorch/issues/196678 https://github.com/huggingface/trl/issues/7181
    https://github.com/NVIDIA/cudnn-frontend/pull/628 https://github.com/huggingface/transformers/pull/48163
    https://github.com/pytorch/pytorch/issues/193893
    https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/transformers/cuda/sdp_utils.cpp
    """
    flag = need(facts.torch).flags.get("sdp")
    found = likely_capabilities(facts, target)
    if not found:
        if trains_on_gpu(facts, target) is not False:
            raise Skip("the GPU is not known")
        return
    if flag is None or flag.value is None:
        return
    names = tuple(name.strip() for name in flag.value.split(","))
    explicit = names[0] == "cudnn" and len(names) > 1
    version, chosen = _cudnn(facts), "cudnn" in names and _chosen_by_torch(facts, found)
    wrong = _HOPPER in found and version is not None and version < _MENDED
    if wrong and (explicit or names == ("cudnn",) or chosen):
        yield _may_be_wrong(facts, target, flag.value, ".".join(map(str, version or ())), explicit, chosen)
        return
    if _BLACKWELL in found and (explicit or chosen):
        yield _may_garble(flag.value)
    slower = sorted(ratio for capability, ratio in _MEASURED.items() if capability in found)
    if slower and explicit and "sdp" not in target.flags:  # else attention/sdp-backends compares with the target's own
        yield finding(
            actual=flag.value,
            message=f"cuDNN's attention comes first; on this GPU its kernels ran at {slower[0]:g} of flash's speed.",
            fix="Try flash first: torch.nn.attention.sdpa_kernel([...], set_priority=True), or remove the line that "
            "changed the order.",
            run="grep -rnE 'sdpa_kernel|_set_sdp_priority_order' --include='*.py' .",
        )


def _chosen_by_torch(facts: Facts, found: frozenset[Capability]) -> bool:
    """Will torch itself put cuDNN first, at the first attention? What it then takes cannot be read before."""
    version, variables, cudnn = torch_version(facts), known(facts.variables) or {}, _cudnn(facts)
    recent = version is not None and versions.at_least(version, _CHOSEN_SINCE)
    able = cudnn is not None and (*cudnn, 0)[:3] >= _CHOSEN_FROM
    return recent and able and bool(found & _CHOSEN_ON) and variables.get(_VARIABLE) != "1"


def _cudnn(facts: Facts) -> Numbers | None:
    """The cuDNN in use: as torch loaded it ("9.20.0", or 92000), else the installed wheel."""
    torch, packages = known(facts.torch), known(facts.packages)
    wheels = [packages.version(f"nvidia-cudnn-cu{major}") for major in (13, 12)] if packages else []
    for text in (torch.cudnn if torch else None, *wheels):
        parts = numbers(text)
        if len(parts) > 1:
            return parts[:3]
        if parts and parts[0] >= 90000:
            return parts[0] // 10000, parts[0] % 10000 // 100, parts[0] % 100
    return None


def _newer(facts: Facts, target: Target) -> Iterator[Pin]:
    """The stack's own cuDNN, with the torch that asks for it, where that is a mended one."""
    pins = remedies.locked_pins(target, known(facts.packages), "nvidia-cudnn-cu13", "nvidia-cudnn-cu12", "torch")
    if any(pin.name != "torch" and numbers(pin.version)[:2] >= _MENDED for pin in pins):
        yield from pins


def _may_be_wrong(facts: Facts, target: Target, actual: str, cudnn: str, explicit: bool, chosen: bool) -> Finding:
    repair: tuple[Repair, ...] = tuple(_newer(facts, target))
    if not repair:  # a variable that outlives its reason would keep the faster kernels away for good
        repair += (SetVariable(name=_VARIABLE, value="1"),) if chosen else ()
        repair += (SetFlag(name="sdp", value=_FLASH_FIRST),) if explicit or not chosen else ()
    by_hand = (
        f"export {_VARIABLE}=1" if chosen else "grep -rnE '_set_sdp_priority_order|sdpa_kernel' --include='*.py' ."
    )
    return finding(
        actual=actual if explicit else f"cudnn first, by torch's own choice ({actual} until the first attention)",
        message=f"cuDNN {cudnn} computes attention first on this GPU; with a mask its backward can give NaN gradients "
        "(mended in cuDNN 9.26).",
        fix=remedies.setting(target, "Let flash come first, or install cuDNN 9.26 or later.", by_hand),
        repair=repair,
    )


def _may_garble(actual: str) -> Finding:
    return finding(
        actual=actual,
        severity=NOTE,
        certain=False,
        message="cuDNN computes attention first on this GPU; one open report saw it garble what models with fewer than "
        "8 key-value heads generate (training was not in question).",
        fix="Where this process generates text, as rejection sampling does: let flash come first.",
        run=f"export {_VARIABLE}=1",
    )
