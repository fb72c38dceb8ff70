"""TensorFlow of CUDA 10 on newer GPUs, half precision on Apple's GPU, JAX without CUDA: short texts and log lines."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding

RULES = load_rules(("image", "script"))


def told(text: str, subject: str) -> list[Finding]:
    findings = diagnose(read(text), no_target(), RULES).findings
    return [one for one in findings if one.rule == "packages/known-errors" and one.subject == subject]


def tensorflow(text: str) -> list[Finding]:
    return [one for one in told(text, "TensorFlow") if one.kind == "no-kernels-for-gpu"]


OF_TENSORFLOW_1 = "name: {name} major: {major} minor: {minor} memoryClockRate(GHz): 1.7"


@pytest.mark.parametrize(
    "text",
    [
        "Training hangs before its first step\n" + OF_TENSORFLOW_1.format(name="RTX A6000", major=8, minor=6),
        "Hangs in session.run\n" + OF_TENSORFLOW_1.format(name="NVIDIA GeForce RTX 4090", major=8, minor=9),
        "Stuck\nname: A100-PCIE-40GB computeCapability: 8.0 coreClock: 1.41GHz\n"
        "I tensorflow/stream_executor] Successfully opened dynamic library libcudart.so.10.1",
        "tensorflow-gpu 1.14 never starts on an RTX 3090",
        "RTX 3080 hangs with TF 1.15\n\nIt works on a 1080 Ti.",
        "Error with tensorflow 2.3.1 on an A100\n\nCUBLAS_STATUS_EXECUTION_FAILED",
        "Stuck with TensorFlow 1 on a 3070",
    ],
)
def test_a_tensorflow_of_cuda_10_has_no_code_for_ampere(text: str) -> None:
    (found,) = tensorflow(text)
    assert "translate" in found.message
    assert "2.4 or later" in found.remedy.text


@pytest.mark.parametrize(
    "text",
    [
        "Training hangs\n" + OF_TENSORFLOW_1.format(name="Tesla V100", major=7, minor=0),
        # NVIDIA's own build of TensorFlow 1 for CUDA 11
        "Training hangs\n"
        + OF_TENSORFLOW_1.format(name="A100", major=8, minor=0)
        + "\nSuccessfully opened dynamic library libcudart.so.11.0",
        "Stuck\nname: A100-PCIE-40GB computeCapability: 8.0 coreClock: 1.41GHz\n"
        "I tensorflow/stream_executor] Successfully opened dynamic library libcudart.so.11.0",
        "Error with tensorflow 2.12 on an RTX 3090\n\nXLA failed",
        "Error with TensorFlow: 1 GPU, an RTX 3090\n\nXLA failed",
        "Error with nvidia-tensorflow, TF 1.15, on an A100",
    ],
)
def test_other_tensorflows_and_gpus_are_not_blamed(text: str) -> None:
    assert not tensorflow(text)


@pytest.mark.parametrize(
    "text",
    [
        "Crash with mps\n\nerror: input types 'tensor<2x64x1xf16>' and 'tensor<1xf32>' are not broadcast compatible",
        "M2 Max, fp16\n\nLLVM ERROR: Failed to infer result type(s).",
        "Half precision on a Mac\n\n'mps.multiply' op requires the same element type for all operands and results",
        "bf16 on M3\n(mpsFileLoc): error: input types 'tensor<1x4096xbf16>' and 'tensor<4096xf32>' are not broadcast "
        "compatible\nLLVM ERROR: Failed to infer result type(s).",
    ],
)
def test_half_precision_on_apples_gpu_wants_float32(text: str) -> None:
    (found,) = told(text, "MPS")
    assert "half precision" in found.message
    assert "float32" in found.remedy.text
    assert "PYTORCH_ENABLE_MPS_FALLBACK does not help" in found.remedy.text
    assert not any("FALLBACK" in command for command in found.remedy.commands)


@pytest.mark.parametrize(
    "line",
    [
        "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64.",
        "RuntimeError: float64 is not supported on MPS",
    ],
)
def test_float64_is_made_by_the_code(line: str) -> None:
    (found,) = told(line, "MPS")
    assert "float32" in found.remedy.text
    assert not any("FALLBACK" in command for command in found.remedy.commands)


def test_a_missing_operator_may_fall_back() -> None:
    line = "NotImplementedError: The operator 'aten::x' is not currently implemented for the MPS device."
    (found,) = told(line, "MPS")
    assert any("FALLBACK" in command for command in found.remedy.commands)


def test_a_tensor_that_is_too_large_for_apples_gpu_is_cut() -> None:
    line = "failed assertion `[MPSNDArray initWithDevice:descriptor:] Error: total bytes of NDArray > 2**32'"
    (found,) = told(f"Crash on an M1\n\n{line}", "MPS")
    assert "attention" in found.remedy.text


@pytest.mark.parametrize(
    "text",
    [
        "Warning at the start\n\n```\nCUDA-enabled jaxlib is not installed\n```\n",
        "A CUDA-enabled jaxlib was not found",
        "jax only sees the CPU\n\nRTX 4080, Ubuntu",
        "Question\n\njax.devices() gives [CpuDevice(id=0)] here.",
        "JAX does not use my GPU",
        "GPU is not detected by jax",
    ],
)
def test_jax_without_cuda_is_told_in_short_texts(text: str) -> None:
    (found,) = told(text, "JAX")
    assert "CUDA extra" in found.remedy.text
    assert found.severity.word == "warning"  # it computes, and may be meant so


def test_jax_that_names_its_library_is_not_that() -> None:
    text = "JAX does not use my GPU\n\nUnable to load cuDNN. Is it installed?\nCUDA_ERROR_NO_DEVICE"
    assert not [one for one in told(text, "JAX") if "computes on the processor" in one.message]


@pytest.mark.parametrize(
    "line",
    [
        "jax.errors.JaxRuntimeError: INTERNAL: ptxas exited with non-zero error code 256",
        "XlaRuntimeError: INTERNAL: ptxas exited with non-zero error code 65280, output: ptxas fatal",
        "tensorflow/compiler/xla: ptxas exited with non-zero error code -1",
    ],
)
def test_xlas_assembler_that_fails_is_explained(line: str) -> None:
    (found,) = told(f"Error at the first step\n\n{line}", "XLA")
    assert "older than the GPU" in found.message


def test_another_compilers_assembler_is_not_xlas() -> None:
    assert not told("Error\n\ntriton: `ptxas` failed with error code 255", "XLA")
