from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.rules.driver.cuda_init import cuda_init
from tests.rules.cuda_machines import brief, driver, machine, only, pasted
from tests.rules.judging import silent, skipped

TORCH = "CUDA initialization: Unexpected error from cudaGetDeviceCount(): Error {}"


@pytest.mark.parametrize(
    ("number", "words", "who"),
    [
        (101, "does not have", "you"),
        (46, "exclusive compute mode", "you"),
        (802, "NVSwitch", "host"),
        (803, "does not belong to the loaded kernel module", "you"),
        (804, "forward compatibility", "image"),
        (805, "Multi-Process Service", "you"),
        (999, "nvidia-uvm", "you"),
        (304, "container may not open a device file", "host"),
        (34, "stub of libcuda", "you"),
        (3, "could not be started", "you"),
        (777, "has no name for", "you"),
    ],
)
def test_each_number_is_explained(number: int, words: str, who: str) -> None:
    found = only(cuda_init, machine(driver=driver(cuinit=number)))
    assert (found.kind, found.who, found.actual) == ("cuda-init-failed", who, f"cuInit {number}")
    assert words in found.message
    assert found.remedy.text


@pytest.mark.parametrize(
    ("message", "number"),
    [
        (TORCH.format("802: system not yet initialized"), 802),
        (TORCH.format("803: system has unsupported display driver / cuda driver combination"), 803),
        (TORCH.format("804: forward compatibility was attempted on non supported HW"), 804),
        ("ggml_cuda_host_malloc: system has unsupported display driver / cuda driver combination", 803),
        ("RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment", 999),
        ("CUDA error: all CUDA-capable devices are busy or unavailable", 46),
        (TORCH.format("101: invalid device ordinal"), 101),
        ("RuntimeError: CUDA error (3): initialization error", 3),
        ("RuntimeError: cuda runtime error (3) : initialization error at Module.cpp:33", 3),
        ("LogicError: cuInit failed: initialization error", 3),
        (TORCH.format("304: OS call failed or operation not supported on this OS"), 304),
        (TORCH.format("34: CUDA driver is a stub library"), 34),
    ],
)
def test_said_by_a_report(message: str, number: int) -> None:
    assert only(cuda_init, pasted(message)).actual.startswith(f"error {number}")


def test_not_found() -> None:
    assert silent(cuda_init, machine())
    assert silent(cuda_init, machine(driver=driver(cuinit=100)))  # no device at all: others say why
    assert skipped(cuda_init, machine(driver=driver(cuinit=None)))
    assert skipped(cuda_init, pasted("something else"))


def test_one_finding() -> None:
    both = machine(
        driver=driver(cuinit=802), messages=("Error 803: unsupported display driver / cuda driver combination",)
    )
    assert brief(cuda_init, both) == ["error cuda-init-failed CUDA"]


def test_the_start_of_an_image_of_nvidias_tells_of_the_fabric() -> None:
    assert "802" in only(cuda_init, pasted("[[ System not yet initialized (error 802) ]]")).message
    assert skipped(cuda_init, pasted("[[ Named symbol not found (error 500) ]]"))


def test_a_driver_of_cuda_10_is_too_old_before_anything_else() -> None:
    smi = "NVIDIA-SMI 426.78       Driver Version: 426.78       CUDA Version: 10.1"
    error = "RuntimeError: CUDA driver initialization failed, you might not have a CUDA gpu."
    found = only(cuda_init, read(f"{smi}\n{error}"))
    assert "runs CUDA 10.1" in found.message
    assert found.remedy.text.startswith("Update the driver")


@pytest.mark.parametrize(
    "line",
    [
        "could not synchronize on CUDA context: CUDA_ERROR_UNKNOWN: unknown error",
        "NCCL WARN Cuda failure 304 'OS call failed or operation not supported on this OS'",
    ],
)
def test_an_error_of_the_run_does_not_tell_that_cuda_did_not_start(line: str) -> None:
    assert skipped(cuda_init, pasted(line))
