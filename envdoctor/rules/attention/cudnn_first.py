from envdoctor.rules.attention._gpu import EXPORT, FLASH_FIRST, before_mended, need_capabilities, repairs, torch_chooses
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Remedy, Target, finding, need, remedies, rule

# Speed of cuDNN's attention kernels relative to flash, by compute capability: huggingface/transformers#48163
_MEASURED = {(8, 0): 0.82, (8, 6): 0.93}
_HOPPER = (9, 0)
_BLACKWELL = (10, 0)


@rule(WARNING, kind="flag-differs", subject="sdp", expected=FLASH_FIRST)
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
    found = need_capabilities(facts, target)
    if not found or flag is None or flag.value is None:
        return
    names = tuple(name.strip() for name in flag.value.split(","))
    explicit = names[0] == "cudnn" and len(names) > 1
    chosen = "cudnn" in names and torch_chooses(facts, found)
    wrong = before_mended(facts) if _HOPPER in found else None
    if wrong is not None and (explicit or names == ("cudnn",) or chosen):
        yield finding(
            actual=flag.value if explicit else _BY_TORCH.format(flag.value),
            message=_MAY_BE_WRONG.format(wrong),
            fix=_flash_or_newer(target, chosen),
            repair=repairs(facts, target, chosen, explicit),
        )
        return
    if _BLACKWELL in found and (explicit or chosen):
        yield finding(actual=flag.value, severity=NOTE, certain=False, message=_MAY_GARBLE, fix=_FOR_GENERATION)
    slower = sorted(ratio for capability, ratio in _MEASURED.items() if capability in found)
    if slower and explicit and "sdp" not in target.flags:  # else attention/sdp-backends compares with the target's own
        yield finding(actual=flag.value, message=_IS_SLOWER.format(slower[0]), fix=_TRY_FLASH)


_BY_TORCH = "cudnn first, by torch's own choice ({} until the first attention)"
_MAY_BE_WRONG = (
    "cuDNN {} computes attention first on this GPU; with a mask its backward can give NaN gradients (mended in cuDNN "
    "9.26)."
)
_MAY_GARBLE = (
    "cuDNN computes attention first on this GPU; one open report saw it garble what models with fewer than 8 key-value "
    "heads generate (training was not in question)."
)
_IS_SLOWER = "cuDNN's attention comes first; on this GPU its kernels ran at {:g} of flash's speed."
_FOR_GENERATION = Remedy(
    text="Where this process generates text, as rejection sampling does: let flash come first.",
    commands=(EXPORT,),
)
_TRY_FLASH = Remedy(
    text="Try flash first: torch.nn.attention.sdpa_kernel([...], set_priority=True), or remove the line that changed "
    "the order.",
    commands=("grep -rnE 'sdpa_kernel|_set_sdp_priority_order' --include='*.py' .",),
)


def _flash_or_newer(target: Target, chosen: bool) -> Remedy:
    by_hand = EXPORT if chosen else "grep -rnE '_set_sdp_priority_order|sdpa_kernel' --include='*.py' ."
    return remedies.setting(target, "Let flash come first, or install cuDNN 9.26 or later.", by_hand)
