from envdoctor.rules.finding import ERROR, Finding, Findings, Remedy, finding
from envdoctor.rules.rule import Facts, Pattern, kind_of, need, remedies, rule

_OPERATOR = Pattern(r"(?P<name>[\w@.+-]{2,60}) is not supported because:")
_NOT_BUILT = Pattern(r"(?i)wasn'?t buil[dt]")
_ON_CPU = Pattern(r"device=(?:cpu|<class 'cpu'>)")
_CAPABILITY = Pattern(r"(?:requires device with capability|requires A100|your GPU has capability|too (?:new|old)\))")
_SMALL = Pattern(r"(?i)smallk|triton|ck")
"""Operators for special cases: that they refuse tells little."""
_EFFECTS = ("attention/flash-unavailable",)


@rule(ERROR, subject="xformers", expected="an attention kernel for these inputs", explains=_EFFECTS)
def operators_refused(facts: Facts) -> Findings:
    """xFormers has no attention kernel for what it was given.

    Why: it lists, operator by operator, every reason why it was not that one. The cause is a reason that all of them
    share; where they share none, it is what the general operator (cutlass) says.
    Fix: depends on the reason.
    Source: https://github.com/facebookresearch/xformers/blob/main/xformers/ops/fmha/dispatch.py
    """
    refused = _reasons(need(facts.remarks.get("attention operators"), "no list of refused operators is reported"))
    general = {name: why for name, why in refused.items() if not _SMALL.match(name)} or refused
    alike = (row for row in _REASONS if all(any(said.search(why) for said in row[0]) for why in general.values()))
    if row := next(alike, None):
        yield _refusal(*row[1:])
    else:
        name = min(general, key=lambda text: ("cutlass" not in text, len(general[text])))
        why = "; ".join(dict.fromkeys(part.strip() for part in general[name].split(";")))
        yield _refusal(
            "script-wrong",
            f"{name} says: {why[:200]}",
            "Change the inputs as that operator asks (alignment, shape, type), or turn xFormers off: torch's "
            "scaled_dot_product_attention takes them.",
        )


_REASONS = (
    (
        (_ON_CPU,),
        "gpu-not-visible",
        "the tensors lie on the CPU, and all of its kernels are for GPUs",
        "See that torch sees the GPU and that the model is moved to it; to run on the CPU, turn xFormers off.",
        'python -c "import torch; print(torch.__version__, torch.cuda.is_available())"',
    ),
    (
        (_NOT_BUILT,),
        "extension-binary-missing",
        "none of them was built in it, or CUDA was not there for them (a build for another torch or without CUDA, most "
        "often)",
        "Install the xformers that was made for the installed torch, or uninstall it: attention then runs in torch "
        "itself.",
        "uv pip install --torch-backend=auto --reinstall-package xformers xformers torch torchvision torchaudio",
        remedies.uninstall("xformers"),
    ),
    (
        (_ON_CPU, _NOT_BUILT),
        "extension-binary-missing",
        "the tensors lie on the CPU, for which it has no kernels, and its kernels for GPUs are in part not built",
        "See that torch sees the GPU and that the model is moved to it, and install the xformers that was made for "
        "that torch; to run on the CPU, turn xFormers off or uninstall it.",
        'python -c "import torch; print(torch.__version__, torch.cuda.is_available())"',
        remedies.uninstall("xformers"),
    ),
    (
        (_CAPABILITY, _NOT_BUILT),
        "no-kernels-for-gpu",
        "it holds no kernel for this GPU's compute capability",
        "Install an xformers and a torch that are made for this GPU, or uninstall xformers: attention then runs in "
        "torch itself.",
        remedies.uninstall("xformers"),
    ),
)
"""What all of the operators say one or the other of, the kind of finding, what that means, what helps, a command, and
one in its place."""


def _reasons(listed: str) -> dict[str, str]:
    """Operator -> why it was not that one."""
    heads = list(_OPERATOR.finditer(listed))
    ends = [head.start() for head in heads[1:]] + [len(listed)]
    return {
        head["name"]: listed[head.end() : end].strip("; ") or "no reason is reported"
        for head, end in zip(heads, ends, strict=True)
    }


def _refusal(kind: str, why: str, fix: str, *commands: str) -> Finding:
    return finding(
        kind=kind_of(kind),
        actual=why,
        message=f"xFormers has no attention kernel for what it was given: {why}.",
        fix=Remedy(text=fix, commands=commands[:1], instead=commands[1:]),
    )
