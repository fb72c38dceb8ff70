from envdoctor.knowledge.questions import messages
from envdoctor.rules.attention._gpu import need_capabilities
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Pattern, Remedy, Target, finding, known, rule

_SAYS = (
    Pattern(r"(?i)torch was not compiled with (?:flash|memory efficient) attention"),
    Pattern(r"(?i)flash attention (?:kernel )?(?:not used|is not (?:supported|available))"),
    Pattern(r"(?i)no available kernel\. aborting execution"),
    Pattern(r"(?i)FlashAttention only supports \w+ GPUs or newer"),
    Pattern(r"(?i)no operator found for `?memory_efficient_attention"),
    Pattern(r"(?i)xformers wasn'?t build with CUDA support"),
)
_STOPS = Pattern(r"(?i)only supports|Aborting|No operator found|wasn'?t build")


@rule(WARNING, kind="flag-differs", subject="flash attention", expected="a fused attention kernel")
def flash_unavailable(facts: Facts, target: Target) -> Findings:
    """Flash attention cannot run here.

    Why: torch's flash kernels need compute capability 8.0 (7.5 in a few builds) and fp16 or bf16, and some
    builds, for Windows among them, lack them. Attention then takes the memory-efficient kernel, which is fine, or
    the math path, which is not.
    Fix: the memory-efficient backend on older GPUs; a torch built with flash attention otherwise.
    Source: https://github.com/pytorch/pytorch/issues/108175
    https://github.com/Dao-AILab/flash-attention#nvidia-cuda-support
    https://github.com/CompVis/stable-diffusion/issues/850
    """
    said = messages.in_report(facts, *_SAYS)
    if said is not None and "attention operators" in facts.remarks and "operator" in said[0].lower():
        return  # attention/operators-refused knows why
    found = () if said else need_capabilities(facts, target, _NOTHING_KNOWN)
    packages = known(facts.packages)
    flash = packages.version("flash-attn") if packages else None
    if said is not None:
        stops = _STOPS.search(said.string) is not None
        mild = NOTE if facts.origin.kind == "pasted" else None  # a report may quote it of another matter
        refusals = (row for pattern, *row in _REFUSALS if stops and pattern.search(said.string))
        meaning, usually, fix = next(refusals, ("", "", _SDPA))
        words = f"{meaning}: {said.string}" if meaning else said.string
        yield finding(
            title=meaning,
            actual=said.string,
            kind="extension-binary-missing" if stops else "",
            severity=ERROR if stops else mild,
            certain=False,
            message=f"{words.rstrip('.')}.",
            usually=usually,
            fix=Remedy(text=fix, commands=_SETTINGS),
        )
    elif flash is not None and found and max(found) < (8, 0):
        yield finding(
            actual=f"flash-attn {flash}",
            severity=NOTE,
            certain=False,
            message=f"flash-attn {flash} does not run on this GPU, which is older than compute capability 8.0.",
            fix=Remedy(text=_SDPA, commands=_SETTINGS),
        )


_NOTHING_KNOWN = "neither the GPU nor a message about attention is known"
_SETTINGS = ("grep -rn 'attn_implementation' --include='*.py' .",)
_SDPA = (
    'Load the model with attn_implementation="sdpa", which takes the best kernel that this GPU has; in a program that '
    "calls flash_attn itself choose sdpa in its settings, or uninstall flash-attn where it then steps aside."
)
_REFUSALS = (
    (
        Pattern(r"(?i)No available kernel"),
        "None of the attention kernels that are allowed takes the inputs",
        "only some of torch's attention kernels are allowed (sdpa_kernel, sdp_kernel), and none of these takes the "
        "inputs: float32, a mask, a head too wide, tensors on the CPU, or a GPU too old for flash attention",
        "Allow the other kernels too (drop the context manager, or add MATH and EFFICIENT_ATTENTION), or give it fp16 "
        'or bf16 without a mask; in transformers attn_implementation="sdpa".',
    ),
    (
        Pattern(r"(?i)only supports"),
        "The flash attention that was called does not run on this GPU",
        "",
        'Load the model with attn_implementation="sdpa", which takes the best kernel that this GPU has, or turn flash '
        "attention off in the program's settings (use_flash_attention_2, a variable of it).",
    ),
    (
        Pattern(r"(?i)No operator found"),
        "xformers has no attention kernel for what it was given",
        "xformers was built for another torch or without CUDA, the tensors lie on the CPU or are float32 or of a shape "
        "that none of its kernels takes, or the GPU is older or newer than it knows",
        "See python -m xformers.info. Install the xformers made for this torch, or turn it off: torch's own "
        "scaled_dot_product_attention takes its place.",
    ),
)
"""What a run stops at: its words, what they prove, what usually lies behind them, and what helps."""
