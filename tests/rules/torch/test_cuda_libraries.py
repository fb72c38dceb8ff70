from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.torch.cuda_libraries import cuda_libraries
from tests.rules.cuda_machines import brief, machine, only, pasted, torch
from tests.rules.judging import silent, skipped

OWN = "/env/lib/python3.12/site-packages/nvidia/"


def mapped(*paths: str, available: bool = True) -> Facts:
    return machine(torch=torch(libraries=paths, cuda_available=available))


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        (mapped(OWN + "cublas/lib/libcublas.so.12", "/usr/local/cuda/lib64/libcublasLt.so.12"), "warning"),
        (
            mapped(OWN + "cublas/lib/libcublas.so.12", "/usr/local/cuda/lib64/libcublasLt.so.12", available=False),
            "error",
        ),
        (mapped(OWN + "cuda_runtime/lib/libcudart.so.12", OWN + "cu13/lib/libcudart.so.13"), "error"),
        (pasted("OSError: nvidia/cublas/lib/libcublas.so.11: undefined symbol: cublasLtGetStatusString"), "error"),
        (pasted("libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12"), "error"),
        (pasted("libtorch_cuda.so: undefined symbol: ncclCommRegister"), "error"),
        (pasted("symbol cublasLtX, version libcublasLt.so.11 not defined in file libcublasLt.so.11"), "error"),
    ],
)
def test_found(facts: Facts, severity: str) -> None:
    assert brief(cuda_libraries, facts) == [f"{severity} cuda-libraries-mixed CUDA libraries"]


@pytest.mark.parametrize(
    "facts",
    [
        mapped(OWN + "cublas/lib/libcublas.so.12", OWN + "cublas/lib/libcublasLt.so.12", OWN + "nccl/lib/libnccl.so.2"),
        mapped("/env/lib/libcudart.so.12.1.105", "/env/lib/libcublas.so.12"),  # conda: in the prefix itself
        mapped("/usr/local/cuda/lib64/libcublas.so.12", "/usr/local/cuda/lib64/libcudart.so.12"),  # all from the image
        mapped("/env/lib/python3.12/site-packages/torch/lib/libcudart-d0da41ae.so.11.0"),
        # an extension's ABI is not a matter of CUDA libraries
        pasted("flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi", torch=torch(libraries=())),
    ],
)
def test_healthy(facts: Facts) -> None:
    assert silent(cuda_libraries, facts)


def test_message_names_the_strangers() -> None:
    found = only(cuda_libraries, mapped(OWN + "cublas/lib/libcublas.so.12", "/usr/local/cuda/lib64/libcublasLt.so.12"))
    assert "/usr/local/cuda/lib64/libcublasLt.so.12" in found.message


def test_not_judged() -> None:
    assert skipped(cuda_libraries, machine())


def test_two_lines_of_wheels_are_among_what_is_usual() -> None:
    found = only(cuda_libraries, pasted("libtorch_cuda.so: undefined symbol: ncclMemFree"))
    assert "nvidia-nccl-cu11 beside nvidia-nccl-cu12" in found.message
