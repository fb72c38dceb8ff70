from re import IGNORECASE
from typing import NamedTuple

from envdoctor.knowledge.questions import RELIABLE, anywhere
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Kind, Pattern, Severity, Who, finding, rule


class _Error(NamedTuple):
    pattern: Pattern
    kind: Kind
    severity: Severity
    meaning: str
    remedy: str
    who: Who = "you"


_E = IGNORECASE
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
        Pattern(
            r"unspecified launch failure|hardware stack error|invalid program counter"
            r"|tensor memory not completely freed|CUDA_ERROR_(?:LAUNCH_FAILED|HARDWARE_STACK_ERROR|INVALID_PC)",
            _E,
        ),
        "script-wrong",
        WARNING,
        "a kernel crashed; the line that reports it is seldom the line that caused it",
        "Run once with CUDA_LAUNCH_BLOCKING=1 to find the operator; look into the kernel log for an Xid.",
    ),
    _Error(
        Pattern(r"uncorrectable NVLink error|CUDA_ERROR_NVLINK_UNCORRECTABLE|cudaErrorNvlinkUncorrectable", _E),
        "gpu-unhealthy",
        ERROR,
        "a link between GPUs has lost data",
        f"Look at nvidia-smi nvlink -e, stop using this GPU until the host was looked at. {RELIABLE}",
        "host",
    ),
    _Error(
        Pattern(r"Invalid access of peer GPU memory over nvlink or a hardware error|CUDA_ERROR_CONTAINED", _E),
        "gpu-unhealthy",
        WARNING,
        "the GPU has contained an error: another GPU's memory was reached for in a wrong way, or the hardware failed",
        "Look for an Xid in the kernel log, and at the other ranks' first errors; every process must be started anew.",
        "host",
    ),
    _Error(
        Pattern(r"an illegal memory access was encountered|misaligned address", _E),
        "script-wrong",
        WARNING,
        "a kernel read or wrote outside its memory",
        "Run once with CUDA_LAUNCH_BLOCKING=1 to find the operator; update the extension it belongs to.",
    ),
    _Error(
        Pattern(r"an illegal instruction was encountered|CUDA_ERROR_ILLEGAL_INSTRUCTION", _E),
        "script-wrong",
        WARNING,
        "a kernel came to an instruction that the GPU cannot run: damaged or wrongly compiled code, or a GPU or driver "
        "that errs",
        "Run once with CUDA_LAUNCH_BLOCKING=1 to find the operator; update driver, torch and the extension it belongs "
        "to, and take overclocking back.",
    ),
    _Error(
        Pattern(r"device-side assert triggered", _E),
        "script-wrong",
        ERROR,
        "a check inside a kernel failed, mostly an index out of range (token, label or position)",
        "Run the same batch on the CPU: there the message names the index.",
    ),
    _Error(
        Pattern(
            r"CUDA out of memory|OutOfMemoryError|CU(?:BLAS|DNN|SOLVER)_STATUS_ALLOC_FAILED|CUFFT_ALLOC_FAILED"
            r"|CUDA_ERROR_OUT_OF_MEMORY|HIP (?:error: )?out of memory",
            _E,
        ),
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
        asked = _Asked.read(said.string)
        meaning, remedy = asked.instead if asked and asked.instead else (error.meaning, error.remedy)
        yield finding(
            kind=error.kind,
            subject=said[0],
            actual=said[0],
            message=f'"{said[0]}": {meaning}{asked.amounts if asked else ""}.',
            fix=remedy,
            who=error.who,
            severity=error.severity,
            certain=error.kind != "script-wrong",  # whatever else is found may be why
        )


_SIZE = r"[\d.]{1,12} [KMG]iB"
_FULL = Pattern(
    rf"Tried to allocate (?P<wanted>{_SIZE}).{{0,120}}?(?P<total>{_SIZE}) total capacity"
    rf"(?:.{{0,80}}?(?P<free>{_SIZE}) free)?"
    rf"|Tried to allocate (?P<asked>{_SIZE}).{{0,60}}?total capaci?ty of (?P<whole>{_SIZE})"
    rf"(?: of which (?P<left>{_SIZE}) is free)?"
)
_UNITS = {"KiB": 2.0**-20, "MiB": 2.0**-10, "GiB": 1.0}
_SPARE = 1.0
"""GiB that must have been free beyond what was asked: the allocator asks the driver for whole blocks, and another
process may have come and gone between the refusal and the count."""


class _Asked(NamedTuple):
    """What the allocator says that it asked for, of how much, and how much of it was free."""

    wanted: str
    total: str
    free: str | None

    @classmethod
    def read(cls, text: str) -> "_Asked | None":
        found = _FULL.search(text)
        if found is None:
            return None
        return cls(found["wanted"] or found["asked"], found["total"] or found["whole"], found["free"] or found["left"])

    @property
    def amounts(self) -> str:
        if self.refused:
            return f": {self.wanted} were refused while {self.free} of {self.total} were free"
        return f": {self.wanted} more do not fit into {self.total}"

    @property
    def refused(self) -> bool:
        return self.free is not None and _gib(self.free) >= _gib(self.wanted) + _SPARE

    @property
    def instead(self) -> tuple[str, str] | None:
        """What it means where the memory is not full at all, and what helps then: smaller batches do not."""
        if self.refused:
            return (
                "the GPU's memory is not full by its own count, and was refused all the same",
                "Something else limits it: under Windows and WSL the memory of the machine and its page file "
                "(.wslconfig: memory=), a limit that the process was given (set_per_process_memory_fraction, "
                "a vGPU, ulimit -v), or another process that filled the GPU for a moment. Look at nvidia-smi and "
                "free -h while it starts.",
            )
        if _gib(self.wanted) > _gib(self.total):
            return (
                "one single tensor is larger than the whole GPU",
                "No setting of memory helps: see in the traceback which operator asks for it, and look at the shapes "
                "that it is given (a wrong resolution, length or index, attention over a whole sequence).",
            )
        return None


def _gib(size: str) -> float:
    number, _, unit = size.partition(" ")
    return float(number.rstrip(".")) * _UNITS[unit]
