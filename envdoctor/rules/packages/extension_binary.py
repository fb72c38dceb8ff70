from envdoctor.rules.packages import _bitsandbytes_says
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Skip, Target, finding, known, remedies, rule

_BINARY = Pattern(r"libbitsandbytes_cuda(\d{2,3})")


@rule(ERROR, kind="extension-binary-missing", subject="bitsandbytes")
def extension_binary(facts: Facts, target: Target) -> Findings:
    """bitsandbytes has no binary for this CUDA version.

    Why: bitsandbytes carries one library for each CUDA version it supports, and takes the one of torch's CUDA.
    Without it, 8-bit optimizers and 4-bit loading fail; everything else runs.
    Fix: a newer bitsandbytes, or BNB_CUDA_VERSION for a neighbouring version that is there.
    Source: https://github.com/bitsandbytes-foundation/bitsandbytes/issues/82
    https://github.com/bitsandbytes-foundation/bitsandbytes/blob/main/bitsandbytes/cextension.py
    https://huggingface.co/docs/bitsandbytes/main/en/errors
    """
    packages, present = known(facts.packages), _bitsandbytes_says.is_seen(facts)
    if _bitsandbytes_says.is_of_another_cause(facts):
        return
    said = _bitsandbytes_says.read(facts, seen=present)
    if not present and said is None:
        if packages is None or not packages.complete:
            raise Skip("whether bitsandbytes is installed is not known")
        return
    line, carried = _bitsandbytes_says.line_of_torch(facts), _bundled_cuda(_bitsandbytes_says.binaries(facts))
    if _bitsandbytes_says.is_beside_a_cpu_build(facts):
        return  # it has nothing to load: torch/cpu-only
    if said is None and (not line or not carried or line.replace(".", "") in carried):
        return
    if _bitsandbytes_says.is_on_a_mac(facts):
        yield finding(
            title="bitsandbytes finds no CUDA",
            actual=said.line if said else "no binary for this system",
            expected="a machine with a GPU that it has kernels for",
            message=f"bitsandbytes finds no CUDA on this Mac, which has none to give: {said.line if said else line}.",
            fix=_WITHOUT_CUDA,
            explains=("packages/known-errors bitsandbytes",),
        )
        return
    looked_for = _BINARY.search(said.line) if said else None
    wanted = looked_for[1] if looked_for else (line or "").replace(".", "") or "torch's CUDA"
    near = [text for text in carried if line and text[:2] == line[:2]]
    advice = f"{_SEE}, or take a neighbour: export BNB_CUDA_VERSION={near[-1]}." if near else f"{_SEE}."
    lacks = f"bitsandbytes has no binary for CUDA {line}; 8-bit optimizers and 4-bit loading fail."
    title = said.title if said else ""
    actual = said.quote if said else f"binaries for CUDA {', '.join(carried)}"
    expected = f"a binary for {wanted}"
    severity = None if said else WARNING
    message = f"{said.meaning}: {said.quote}." if said else lacks
    usually = said.usually if said else ""
    advice, run = (f"{said.help}.", said.run) if said and said.help else (advice, _COMMANDS)
    fix = remedies.from_lock(facts, target, "bitsandbytes", advice, *run)
    yield finding(
        title=title, actual=actual, expected=expected, severity=severity, message=message, usually=usually, fix=fix
    )


_WITHOUT_CUDA = (
    "Load the model in bf16 or fp16 without bitsandbytes (device_map={'': 'mps'}, or the CPU); for 4 and 8 bits on a "
    "Mac take MLX or llama.cpp; or run it on a machine with an NVIDIA GPU."
)
_SEE = (
    "See what it says itself (python -m bitsandbytes) and whether torch sees the GPU. Install a bitsandbytes that "
    "carries a library for torch's CUDA"
)
_COMMANDS = ("python -m bitsandbytes", "python -m pip install --upgrade bitsandbytes")


def _bundled_cuda(binaries: tuple[str, ...]) -> list[str]:
    """CUDA versions ("126") of the libraries that the package holds."""
    return sorted({match[1] for path in binaries if (match := _BINARY.search(path))}, key=int)
