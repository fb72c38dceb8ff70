from __future__ import annotations

import pytest

from envdoctor.rules.torch.cuda_error import cuda_error
from tests.rules.cuda_machines import brief, machine, only, pasted
from tests.rules.judging import silent


@pytest.mark.parametrize(
    ("message", "severity", "kind"),
    [
        ("CUDA error: uncorrectable ECC error encountered", "error", "gpu-unhealthy"),
        ("Unable to determine the device handle for GPU 0000:41:00.0", "error", "gpu-unhealthy"),
        ("CUDA error: the provided PTX was compiled with an unsupported toolchain.", "error", "nvcc-mismatch"),
        ("CUDA error: device-side assert triggered", "error", "script-wrong"),
        ("CUDA error: an illegal memory access was encountered", "warning", "script-wrong"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "error", "script-wrong"),
        ("Cannot re-initialize CUDA in forked subprocess", "error", "script-wrong"),
        ("CUDA error: an illegal instruction was encountered", "warning", "script-wrong"),
        ("CUDA error: hardware stack error", "warning", "script-wrong"),
        ("CUDA error: uncorrectable NVLink error detected during the execution", "error", "gpu-unhealthy"),
        (
            "CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error",
            "warning",
            "gpu-unhealthy",
        ),
        ("torch.AcceleratorError: HIP error: out of memory", "error", "script-wrong"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "error", "script-wrong"),
        ("CUDA error: the launch timed out and was terminated", "error", "gpu-limited"),
    ],
)
def test_classified(message: str, severity: str, kind: str) -> None:
    found = only(cuda_error, pasted(message))
    assert found.severity is not None
    assert (found.severity.word, found.kind) == (severity, kind)
    assert found.actual in message


def test_not_found() -> None:
    assert silent(cuda_error, machine())
    assert silent(cuda_error, pasted("RuntimeError: shape '[2, 3]' is invalid for input of size 5"))


def test_a_broken_card_is_the_hosts() -> None:
    assert only(cuda_error, pasted("uncorrectable ECC error")).who == "host"
    assert brief(cuda_error, pasted("CUDA out of memory", "device-side assert triggered")) == [
        "error script-wrong device-side assert triggered",
        "error script-wrong CUDA out of memory",
    ]


@pytest.mark.parametrize(
    ("line", "amounts"),
    [
        (
            "CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0; 15.78 GiB total capacity)",
            "1.50 GiB more do not fit into 15.78 GiB",
        ),
        (
            "CUDA out of memory. Tried to allocate 90.00 MiB. GPU 0 has a total capacity of 23.55 GiB of which",
            "90.00 MiB more do not fit into 23.55 GiB",
        ),
    ],
)
def test_a_full_memory_says_how_full(line: str, amounts: str) -> None:
    assert amounts in only(cuda_error, pasted(line)).message


WINDOWS = (
    "CUDA out of memory. Tried to allocate 128.00 MiB (GPU 0; 44.99 GiB total capacity; 6.15 GiB already allocated; "
    "37.32 GiB free; 6.15 GiB reserved in total by PyTorch)"
)


@pytest.mark.parametrize(
    "line",
    [
        WINDOWS,
        "OutOfMemoryError: Tried to allocate 90 MiB. GPU 0 has a total capacity of 23.55 GiB of which 9 GiB is free",
    ],
)
def test_a_memory_that_is_not_full_is_not_called_full(line: str) -> None:
    found = only(cuda_error, pasted(line))
    assert "not full" in found.message
    assert "do not fit" not in found.message
    assert "smaller batches" not in found.remedy.text
    assert "WSL" in found.remedy.text


@pytest.mark.parametrize(
    "line",
    [
        WINDOWS.replace("37.32 GiB free", "770.62 MiB free"),
        WINDOWS.replace("128.00 MiB", "1.69 GiB").replace("37.32 GiB free", "1.31 GiB free"),
        WINDOWS.replace("37.32 GiB free", "0 bytes free"),
        "OutOfMemoryError: Tried to allocate 1.70 GiB. GPU 0 has a total capacty of 6.00 GiB of which 0 bytes is free.",
    ],
)
def test_a_full_memory_still_is(line: str) -> None:
    found = only(cuda_error, pasted(line))
    assert "the GPU's memory does not suffice" in found.message
    assert "do not fit into" in found.message


def test_a_tensor_larger_than_the_gpu_is_no_matter_of_what_fills_it() -> None:
    found = only(cuda_error, pasted(WINDOWS.replace("128.00 MiB", "130674.91 GiB")))
    assert "larger than the whole GPU" in found.message
    assert "shapes" in found.remedy.text


@pytest.mark.parametrize(
    "line",
    [
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
        "java.lang.OutOfMemoryError: Java heap space",
    ],
)
def test_memory_of_the_host_is_not_the_gpus(line: str) -> None:
    assert silent(cuda_error, pasted(line))


def test_a_library_without_memory_may_have_another_cause() -> None:
    found = only(cuda_error, pasted("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`"))
    assert "Usually the GPU's memory is full" in found.message
    assert "out of range" in found.message
