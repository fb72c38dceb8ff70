from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envdoctor.facts import Facts
from envdoctor.knowledge import extensions, messages, remedies, versions
from envdoctor.knowledge.extensions import Built
from envdoctor.pattern import Pattern
from envdoctor.rule import Finding, Severity, Skip, known, rule
from envdoctor.target import Target

_SAYS = (
    Pattern(r"undefined symbol:?\s*_Z\w*(?:3c10|5torch|2at)\w*"),
    Pattern(r"undefined symbol:?\s*aoti_torch\w*"),
    Pattern(r"xFormers was built for", re.IGNORECASE),
    Pattern(r"xFormers can'?t load C\+\+/CUDA extensions", re.IGNORECASE),
    Pattern(r"cpp extensions.*(?:incompatible|not imported|skipp)", re.IGNORECASE),
    Pattern(r"skipping import of cpp extensions", re.IGNORECASE),
    Pattern(r"ops were compiled and installed with a different version", re.IGNORECASE),
    Pattern(r"PyTorch version mismatch! DeepSpeed", re.IGNORECASE),
    Pattern(r"(?:built|compiled) for (?:another|a different|an? (?:older|newer)) (?:torch|ABI|Python)", re.IGNORECASE),
    Pattern(r"DLL load failed while importing (?:flash_attn\w*|_C\w*|_ext\w*|fused_\w+|amp_C)"),
    Pattern(r"lib(?:torch_(?:cpu|cuda\w*)|c10_cuda)\.so\S*:? .*(?:cannot open|no such)", re.IGNORECASE),
    Pattern(r"PyTorch and (?!torchvision|torchaudio)\w+ were compiled with different CUDA", re.IGNORECASE),
    Pattern(r"flash_attn\w*.*(?:libcudart|libcublas)\.so\.\d+\S*:? .*(?:cannot open|no such)", re.IGNORECASE),
)
_LIBRARY = Pattern(r"lib(?:cudart|cublas|cublasLt)\.so\.(\d+)\S*:? .*(?:cannot open|no such)", re.IGNORECASE)
_LIBC = Pattern(r"version [`'\"]?GLIBC(?:XX)?_[\d.]+[`'\"]? not found", re.IGNORECASE)
_BOUND = frozenset(extensions.MODULES.values()) - {"bitsandbytes", "deepspeed"}
_MATES = Pattern(r"libtorchaudio|_torchaudio|torchaudio/lib/|torchvision/(?:_C|image)")  # `packages/torch-pair`
_STOPS = Pattern(r"no operator found for|wasn'?t build with CUDA", re.IGNORECASE)
_FALLS_BACK = frozenset({"torchao", "xformers"})  # without their kernels they still import, and are slower


@rule(Severity.ERROR)
def extension_abi(facts: Facts, target: Target) -> Iterator[Finding]:
    """A compiled extension was built for another torch, CUDA, Python or C++ ABI.

    Why: extensions call torch's C++ code, which promises no compatibility between releases. Built for another one
    they do not load ("undefined symbol: _ZN3c10..."), or load without their kernels. CUDA must agree in the major
    version.
    Fix: a wheel for exactly this torch, CUDA, Python and ABI; or do without: scaled_dot_product_attention needs
    no extension.
    Source: https://github.com/Dao-AILab/flash-attention/issues/1644
    https://github.com/huggingface/open-r1/issues/684 https://github.com/axolotl-ai-cloud/axolotl/issues/3142
    https://github.com/facebookresearch/xformers/issues/1176 https://github.com/pytorch/ao/issues/2919
    """
    torch = extensions.torch_build(facts)
    said = messages.matched(facts, *_SAYS) or _other_cuda(facts, torch)
    if said is not None and _MATES.search(said.string):
        said = None
    built = extensions.builds(facts)
    failed = {e.name: e.error for e in known(facts.extensions) or () if e.error}
    if said is None and (torch is None or not built) and not failed:
        if known(facts.packages) is None and known(facts.extensions) is None:
            raise Skip("the extensions are not known")
        return
    packages = known(facts.packages)
    bound = [d.name for d in packages.distributions if d.name in _BOUND] if packages else []
    blamed = extensions.named(said.string, built) if said else None
    blamed = blamed or (bound[0] if said and len(bound) == 1 else None)
    told = False
    for name, build in sorted(built.items()):
        reason = extensions.difference(build, torch) if torch else None
        error = failed.get(name) or (said.string if said and name == blamed else None)
        error = error if error is None or _about_abi(error) else None
        if reason is None and error is None:
            continue
        told = told or name == blamed
        yield _finding(target, facts, name, built, reason or error or "", proven=error is not None)
    if said is not None and not told:
        yield _finding(target, facts, blamed or "a compiled extension", built, said.string, proven=True)


def _other_cuda(facts: Facts, torch: Built | None) -> re.Match[str] | None:
    """A library of another CUDA than torch's is looked for: by an extension, since torch has its own; or an extension
    wants a later C library. bitsandbytes finds its library by itself, and has a rule of its own."""
    libc = messages.matched(facts, _LIBC)
    if libc is not None and extensions.named(libc.string) in _BOUND:
        return libc
    found = messages.matched(facts, _LIBRARY)
    if found is None or "bitsandbytes" in " ".join(facts.messages):
        return None
    packages = known(facts.packages)
    present = {d.name for d in packages.distributions} if packages else set()
    if torch is None or not torch.cuda:
        return found if present & _BOUND else None
    return found if torch.cuda.partition(".")[0] != found[1] else None


def _about_abi(error: str) -> bool:
    return any(pattern.search(error) for pattern in _SAYS)


def _finding(target: Target, facts: Facts, name: str, built: Mapping[str, Built], reason: str, proven: bool) -> Finding:
    packages = known(facts.packages)
    version = packages.version(name) if packages else None
    torch = extensions.torch_build(facts)
    locked = remedies.locked(target, packages, "torch", name)
    exact = name if version is None else f"{name}=={versions.public(version)}"
    weak = name in _FALLS_BACK and not reason.startswith("undefined") and messages.matched(facts, _STOPS) is None
    return Finding(
        kind="extension-abi-mismatch",
        subject=name,
        actual=f"{version or 'unknown version'}{_for(built.get(name))}",
        expected=f"built for {torch.text()}" if torch else "built for this torch",
        message=f"{name} {version or ''}".rstrip() + f" does not fit this torch: {reason}.",
        remedy=remedies.choose(
            target,
            locked,
            f"Install a {name} made for this torch, or remove it.",
            f"python -m pip install --force-reinstall --no-deps --no-cache-dir '{exact}'",
            f"python -m pip uninstall -y {name}",
        ),
        severity=Severity.WARNING if weak else None,
        explains=("packages/import-mismatch", f"packages/conflicts {name} torch", "attention/flash-unavailable"),
        root_rank=33 if proven else 9,
        repair=locked,
    )


def _for(build: Built | None) -> str:
    return f", built for {build.text()}" if build and build.text() else ""
