import re
from typing import NamedTuple

from envdoctor.knowledge.messages import anywhere
from envdoctor.knowledge.renting import RELIABLE
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Kind, Pattern, Severity, Who, finding, rule


class _Error(NamedTuple):
    pattern: Pattern
    kind: Kind
    severity: Severity
    meaning: str
    remedy: str
    who: Who = "you"


_E = re.IGNORECASE
_ERRORS = (
    _Error(
        Pattern(r"uncorrectable ECC error|CUDA_ERROR_ECC_UNCORRECTABLE|Error 214", _E),
        "gpu-unhealthy",
        ERROR,
        "the GPU's memory has lost data that it could not correct",
        f"Stop using this GPU until it was reset. {RELIABLE}",
        "host",
    ),
    _Error(
        Pattern(r"GPU has fallen off the bus|Unable to determine the device handle|GPU is lost", _E),
        "gpu-unhealthy",
        ERROR,
        "the GPU no longer answers on the PCIe bus",
        f"The host must reset or replace it. {RELIABLE}",
        "host",
    ),
    _Error(
        Pattern(r"unspecified launch failure|CUDA_ERROR_LAUNCH_FAILED", _E),
        "script-wrong",
        WARNING,
        "a kernel crashed; the line that reports it is seldom the line that caused it",
        "Run once with CUDA_LAUNCH_BLOCKING=1 to find the operator; look into the kernel log for an Xid.",
    ),
    _Error(
        Pattern(r"an illegal memory access was encountered|misaligned address", _E),
        "script-wrong",
        WARNING,
        "a kernel read or wrote outside its memory",
        "Run once with CUDA_LAUNCH_BLOCKING=1 to find the operator; update the extension it belongs to.",
    ),
    _Error(
        Pattern(r"device-side assert triggered", _E),
        "script-wrong",
        ERROR,
        "a check inside a kernel failed, mostly an index out of range (token, label or position)",
        "Run the same batch on the CPU: there the message names the index.",
    ),
    _Error(
        Pattern(r"CUDA out of memory|OutOfMemoryError|CUBLAS_STATUS_ALLOC_FAILED|CUDA_ERROR_OUT_OF_MEMORY", _E),
        "script-wrong",
        ERROR,
        "the GPU's memory is full",
        "Look first for other processes on the GPU. Then take smaller batches with gradient accumulation, shorter "
        "sequences and gradient checkpointing; load the weights in bf16, or in 4 bit with LoRA; and with several GPUs "
        "shard the model (FSDP, DeepSpeed ZeRO-3) where each process loads all of it. Fragments: "
        "PYTORCH_ALLOC_CONF=expandable_segments:True.",
    ),
    _Error(
        Pattern(r"the launch timed out and was terminated", _E),
        "gpu-limited",
        ERROR,
        "the driver's watchdog stopped a kernel, because the GPU also drives a display",
        "Train on a GPU without a display.",
    ),
    _Error(
        Pattern(r"Cannot re-initialize CUDA in forked subprocess", _E),
        "script-wrong",
        ERROR,
        "a process was forked after CUDA had started",
        "Use the start method spawn, and touch no CUDA tensor in the dataset or its workers.",
    ),
    _Error(
        Pattern(r"provided PTX was compiled with an unsupported toolchain|CUDA_ERROR_UNSUPPORTED_PTX_VERSION", _E),
        "nvcc-mismatch",
        ERROR,
        "code was left as PTX by a CUDA newer than the driver's own, and the driver cannot compile it",
        "Build the extension for this GPU's architecture (TORCH_CUDA_ARCH_LIST), or get a newer driver.",
    ),
)


@rule(ERROR, expected="no CUDA error")
def cuda_error(facts: Facts) -> Findings:
    """What a CUDA error in the report means.

    Why: CUDA reports errors late and tersely. Some mean a broken GPU, most mean a fault in the script or one of its
    extensions: the environment is not to blame, and the
    finding says so.
    Fix: depends on the error.
    Source: https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html
    """
    for error in _ERRORS:
        said = anywhere(facts, error.pattern)
        if said is None:
            continue
        yield finding(
            kind=error.kind,
            subject=said[0],
            actual=said[0],
            message=f'"{said[0]}": {error.meaning}{_amounts(said.string)}.',
            fix=error.remedy,
            who=error.who,
            severity=error.severity,
            certain=error.kind != "script-wrong",  # whatever else is found may be why
        )


_FULL = Pattern(
    r"Tried to allocate (?P<wanted>[\d.]{1,12} [KMG]iB).{0,120}?(?P<total>[\d.]{1,12} GiB) total capacity"
    r"|Tried to allocate (?P<asked>[\d.]{1,12} [KMG]iB).{0,60}?total capaci?ty of (?P<whole>[\d.]{1,12} GiB)"
)


def _amounts(text: str) -> str:
    """What was asked of how much, where the allocator says it."""
    found = _FULL.search(text)
    if found is None:
        return ""
    return f": {found['wanted'] or found['asked']} more do not fit into {found['total'] or found['whole']}"
