import re
from dataclasses import replace

from envdoctor.knowledge.questions import messages
from envdoctor.rules.finding import ERROR, NOTE, Finding, Findings, Severity, finding
from envdoctor.rules.rule import WARNING, Facts, Pattern, Skip, Target, known, likely_capabilities, rule, trains_on_gpu

_SDPA = (
    'Load the model with attn_implementation="sdpa", which takes the best kernel that this GPU has; in a program that '
    "calls flash_attn itself choose sdpa in its settings, or uninstall flash-attn where it then steps aside."
)
_SAYS = (
    Pattern(r"(?i)torch was not compiled with (?:flash|memory efficient) attention"),
    Pattern(r"(?i)flash attention (?:kernel )?(?:not used|is not (?:supported|available))"),
    Pattern(r"(?i)no available kernel\. aborting execution"),
    Pattern(r"(?i)FlashAttention only supports \w+ GPUs or newer"),
    Pattern(r"(?i)no operator found for `?memory_efficient_attention"),
    Pattern(r"(?i)xformers wasn'?t build with CUDA support"),
)


@rule(WARNING, subject="flash attention", expected="a fused attention kernel")
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
    found = likely_capabilities(facts, target)
    packages = known(facts.packages)
    if said is None and not found:
        if trains_on_gpu(facts, target) is not False:
            raise Skip("neither the GPU nor a message about attention is known")
        return
    old = bool(found) and max(found) < (8, 0)
    version = packages.version("flash-attn") if packages else None
    if said is not None:
        fatal = bool(re.search(r"(?i)only supports|Aborting|No operator found|wasn'?t build", said.string))
        mild = NOTE if facts.origin.kind == "pasted" else None  # a report may quote it of another matter
        refusals = (row for pattern, *row in _REFUSALS if fatal and pattern.search(said.string))
        meaning, usually, fix = next(refusals, ("", "", _SDPA))
        words = f"{meaning}: {said.string}" if meaning else said.string
        one = _finding(said.string, f"{words.rstrip('.')}.", ERROR if fatal else mild, usually, fix)
        yield replace(one, title=meaning)
    elif old and version is not None:
        text = f"flash-attn {version} does not run on this GPU, which is older than compute capability 8.0."
        yield _finding(f"flash-attn {version}", text, NOTE)


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


def _finding(actual: str, message: str, severity: Severity | None, usually: str = "", fix: str = _SDPA) -> Finding:
    return finding(
        actual=actual,
        kind="flag-differs" if severity is not ERROR else "extension-binary-missing",
        severity=severity,
        certain=False,
        message=message,
        usually=usually,
        fix=fix,
        run="grep -rn 'attn_implementation' --include='*.py' .",
    )
