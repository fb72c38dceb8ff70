import pytest

from envdoctor.facts.pasted import read
from envdoctor.rules.torch.older_than_gpu import older_than_gpu
from tests.rules.judging import findings, silent, skipped

FAILED = "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"


@pytest.mark.parametrize(
    ("told", "cuda", "first"),
    [
        ("RTX 2070\nCUDA 9.0\n", "9.0", "10.0"),
        ("Rtx3090\ncuda:10.1\npytorch:1.4.0\n", "10.1", "11.1"),
        ("GPU: A100, CUDA version 10.2\n", "10.2", "11.0"),
    ],
)
def test_a_cuda_of_before_the_gpu_is_named(told: str, cuda: str, first: str) -> None:
    (found,) = findings(older_than_gpu, read(told + FAILED))
    assert (found.actual, found.expected) == (f"CUDA {cuda}", f"CUDA {first} or later")
    assert found.likely


@pytest.mark.parametrize(
    "told",
    [
        "RTX 3090\nCUDA 11.0\n",  # code for 8.0 runs on 8.6
        "GTX 1080\nCUDA 9.0\n",
        "RTX 2070\nDriver with CUDA 9.0\n",
        "RTX 2070\nCUDA 9.0 on the one, CUDA 10.1 on the other\n",
        "RTX 4090\ntorch 2.1.0, it should be CUDA 9.0 or later\n",
    ],
)
def test_a_cuda_that_knows_the_gpu_and_one_that_nobody_has_are_left_alone(told: str) -> None:
    assert silent(older_than_gpu, read(told + FAILED))


def test_without_a_gpu_or_an_error_it_is_skipped() -> None:
    assert skipped(older_than_gpu, read("CUDA 9.0\n" + FAILED))
    assert skipped(older_than_gpu, read("RTX 2070\nCUDA 9.0\nRuntimeError: CUDA out of memory"))


def test_an_old_python_gets_an_environment_of_its_own() -> None:
    path = '  File "/v/lib/python3.5/site-packages/torch/nn/functional.py", line 9, in f\n'
    (found,) = findings(older_than_gpu, read(f"RTX 3090\nCUDA 10.0\npytorch:1.2.0\n{path}{FAILED}"))
    assert found.remedy.commands[0].startswith("uv venv --python 3.1")
