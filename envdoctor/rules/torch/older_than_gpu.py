from envdoctor.knowledge.questions import numbers, release_of, toolkits, torch_version
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Remedy, Skip, anywhere, finding, known, rule, versions
from envdoctor.rules.torch import _gpu_code, _new_build

_FAILED = Pattern(
    r"(?i).{0,200}(?:CUDNN_STATUS_(?:NOT_INITIALIZED|EXECUTION_FAILED|INTERNAL_ERROR|MAPPING_ERROR|ARCH_MISMATCH)"
    r"|CUBLAS_STATUS_(?:NOT_INITIALIZED|EXECUTION_FAILED|INTERNAL_ERROR|ARCH_MISMATCH)|cublas runtime error).{0,200}"
)


@rule(ERROR, kind="no-kernels-for-gpu", for_gpu=True)
def older_than_gpu(facts: Facts) -> Findings:
    """A library of CUDA fails, and the CUDA that is named is of before this GPU.

    Why: cuDNN and cuBLAS hold code for the GPUs of their time. On a later one torch itself may start, by code that the
    driver compiles, and the first convolution or product fails with a status that does not name the reason.
    Fix: torch for a CUDA line that knows the GPU.
    Source: https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/#gpu-feature-list
    https://github.com/pytorch/pytorch/blob/main/RELEASE.md
    """
    said, devices = anywhere(facts, _FAILED), _gpu_code.devices_of(facts)
    if said is None:
        raise Skip("no library of CUDA fails")
    if len(devices) != 1 or "module tensorflow" in facts.remarks:
        raise Skip("the GPU is not known, or the program is none of torch's")
    ((number, name),) = devices.items()
    told, first, served = _cuda_of(facts), _first(number), _first(_SERVES.get(number, f"{number.partition('.')[0]}.0"))
    if not (told and first and served and versions.below(told, first) and versions.below(told, served)):
        return
    text, *commands = _new_build.advice(facts, number, None, vague=False, either=False)
    yield finding(
        subject=name,
        actual=f"CUDA {told}",
        expected=f"CUDA {first} or later",
        certain=False,
        message=f"CUDA {told} is of before {name} (compute capability {number}), which CUDA knows from {first} on: "
        f"{said[0].strip()}.",
        usually=_WHY,
        fix=Remedy(text=f"{text} {_TIME}", commands=tuple(commands)),
        explains=("packages/known-errors cuDNN", "packages/known-errors cuBLAS"),
    )


_SERVES = {"7.5": "7.5"}
"""Whose code runs on a GPU, where it is not that of the first of its major version: cuDNN for CUDA 9 chooses none of
Volta's on a Turing (https://github.com/facebookresearch/maskrcnn-benchmark/issues/688)."""


def _first(number: str) -> str:
    """The first CUDA that knows GPUs of this capability; "" where that is not known."""
    span = toolkits.span_of(number.replace(".", ""))
    return span[0] if span else ""


def _cuda_of(facts: Facts) -> str:
    """torch's own CUDA; else the newest for which the release was built; else the only one that the text names."""
    torch, version = known(facts.torch), torch_version(facts)
    release = release_of(version) if version else None
    newest = max(release.lines, key=numbers, default="") if release else ""
    return (torch.cuda if torch and torch.cuda else "") or newest or facts.remarks.get("CUDA as told", "")


_WHY = "cuDNN and cuBLAS of that time are what runs, and have no code for this GPU: they fail in their first call"
_TIME = "Code of an older torch's time may have to be adapted; where that cannot be, run it on a GPU of its time."
