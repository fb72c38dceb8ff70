import re

from envdoctor.facts.model import Extension
from envdoctor.knowledge.questions import line_of, messages, platform_of, versions
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Skip, Target, finding, known, remedies, rule

_NAME = "bitsandbytes"
_SAYS = (
    Pattern(r"libbitsandbytes_\w+\.(?:so|dll)"),
    Pattern(r"(?i)bitsandbytes was compiled without GPU support"),
    Pattern(r"(?i)CUDA Setup failed"),
    Pattern(r"(?i)configured (?:CUDA|ROCm|XPU) binary (?:missing|not found)"),
    Pattern(r"'NoneType' object has no attribute 'cadam32bit_grad_fp32'"),
)
_NO_DRIVER = Pattern(r"libcuda\.so not found! Do you have a CUDA driver")
_LOADER = Pattern(r"(?i)lib(?:cusparse|cudart|cublas|cublasLt)\.so\.\d\S{0,80}:? .*(?:no such|cannot open)")
_BEFORE_11 = Pattern(r"libbitsandbytes_cuda(?:[89]\d|10[0-2])\b")
_BINARY = Pattern(r"libbitsandbytes_cuda(\d{2,3})")


@rule(ERROR, kind="extension-binary-missing")
def extension_binary(facts: Facts, target: Target) -> Findings:
    """bitsandbytes has no binary for this CUDA version.

    Why: bitsandbytes carries one library for each CUDA version it supports, and takes the one of torch's CUDA.
    Without it, 8-bit optimizers and 4-bit loading fail; everything else runs.
    Fix: a newer bitsandbytes, or BNB_CUDA_VERSION for a neighbouring version that is there.
    Source: https://github.com/bitsandbytes-foundation/bitsandbytes/issues/82
    https://github.com/bitsandbytes-foundation/bitsandbytes/blob/main/bitsandbytes/cextension.py
    https://huggingface.co/docs/bitsandbytes/main/en/errors
    """
    packages, torch = known(facts.packages), known(facts.torch)
    extension = next((e for e in known(facts.extensions) or () if e.name == _NAME), None)
    listed = packages is not None and packages.version(_NAME) is not None
    installed = extension is not None or listed or any(_NAME in value for value in facts.remarks.values())
    if messages.in_report(facts, _NO_DRIVER, _BEFORE_11):
        return  # it never came to look for a binary of its own, or no release has it: packages/known-errors
    said = messages.in_report(facts, *_SAYS) or (messages.in_report(facts, _LOADER) if installed else None)
    if not installed and said is None:
        if packages is None or not packages.complete:
            raise Skip("whether bitsandbytes is installed is not known")
        return
    version = (torch.version if torch else None) or (packages.version("torch") if packages else None)
    line = line_of(version, torch.cuda if torch else None) if version else None
    carried = _bundled_cuda(extension)
    if version and (versions.label(version) == "cpu" or (torch is not None and torch.cuda == "" and not torch.hip)):
        return  # beside a torch without CUDA it has nothing to load: torch/cpu-only
    if said is None and (not line or not carried or line.replace(".", "") in carried):
        return
    if platform_of(facts).startswith("macos"):
        yield finding(
            subject=_NAME,
            title="bitsandbytes finds no CUDA",
            actual=said.string if said else "no binary for this system",
            expected="a machine with a GPU that it has kernels for",
            message=f"bitsandbytes finds no CUDA on this Mac, which has none to give: {said.string if said else line}.",
            fix="Load the model in bf16 or fp16 without bitsandbytes (device_map={'': 'mps'}, or the CPU); for 4 and 8 "
            "bits on a Mac take MLX or llama.cpp; or run it on a machine with an NVIDIA GPU.",
            explains=("packages/known-errors bitsandbytes",),
        )
        return
    looked_for = _BINARY.search(said.string) if said else None
    wanted = looked_for[1] if looked_for else (line or "").replace(".", "") or "torch's CUDA"
    near = [text for text in carried if line and text[:2] == line[:2]]
    locked = remedies.locked_pins(target, packages, _NAME)
    yield finding(
        subject=_NAME,
        title=""
        if not said
        else "A library of CUDA is not found"
        if _is_anybodys(said)
        else "bitsandbytes does not load its library for the GPU",
        actual=_quote(said) if said else f"binaries for CUDA {', '.join(carried)}",
        expected=f"a binary for {wanted}",
        severity=None if said else WARNING,
        message=f"{_failure(said)}: {_quote(said)}."
        if said
        else f"bitsandbytes has no binary for CUDA {line}; 8-bit optimizers and 4-bit loading fail.",
        usually=_usually(said) if said else "",
        fix=remedies.choose(
            target,
            locked,
            "See what it says itself (python -m bitsandbytes) and whether torch sees the GPU. Install a bitsandbytes "
            "that carries a library for torch's CUDA"
            + (f", or take a neighbour: export BNB_CUDA_VERSION={near[-1]}." if near else "."),
            "python -m bitsandbytes",
            "python -m pip install --upgrade bitsandbytes",
        ),
        repair=locked,
    )


def _quote(said: re.Match[str]) -> str:
    """The line, or of one that goes on and on the words around the name."""
    if len(said.string) <= _LONG:
        return said.string.rstrip(".")
    return said.string[said.string.rfind(" ", 0, said.start()) + 1 : said.end() + _LONG // 3].rstrip(". ")


_LONG = 300


def _is_of_cpu(said: str) -> bool:
    return "_cpu" in said or "without GPU" in said or "cadam32bit" in said


def _is_anybodys(found: re.Match[str]) -> bool:
    """Is it the linker's line, which does not name bitsandbytes?"""
    return found.re.pattern == _LOADER.source and _NAME not in found.string


def _failure(found: re.Match[str]) -> str:
    said = found.string
    if _is_anybodys(found):
        return "A library of CUDA is not found"
    if "without GPU" in said:
        return "bitsandbytes runs with a library that has nothing for the GPU in it"
    if "_cpu" in said:
        return "bitsandbytes takes its library for the CPU"
    return "bitsandbytes cannot load its library"


def _usually(found: re.Match[str]) -> str:
    said = found.string
    if _is_anybodys(found):
        return (
            "it is bitsandbytes, which the text names, that looks for it: this release of it is for another CUDA than "
            "torch's, or CUDA's own libraries are not found beside it"
        )
    if _is_of_cpu(said):
        return (
            "it fell back to its library for the CPU when it was imported, since torch saw no GPU (a CPU build, a "
            "driver, a container without its GPU), or since this release has none for torch's CUDA"
        )
    return (
        "this release of it carries no library for torch's CUDA (too old for it), CUDA's own libraries are not found "
        "beside it" + ("" if "despite GPU" in said else ", or torch sees no NVIDIA GPU here")
    )


def _bundled_cuda(extension: Extension | None) -> list[str]:
    """CUDA versions ("126") of the libraries that the package holds."""
    binaries = extension.binaries if extension else ()
    return sorted({match[1] for path in binaries if (match := _BINARY.search(path))}, key=int)
