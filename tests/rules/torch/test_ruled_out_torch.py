"""torch's, cuDNN's and CUDA's errors, told no further than their own lines and numbers go."""

from __future__ import annotations

import pytest

from tests.rules.told import errors, root, whole

NOT_COMPILED = "AssertionError: Torch not compiled with CUDA enabled"
FULL = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.30 GiB. GPU 4 has a total capacity of 94.99 GiB "
    "of which 861.06 MiB is free. Including non-PyTorch memory, this process has {own} memory in use. Of the allocated "
    "memory {used} is allocated by PyTorch, and {idle} is reserved by PyTorch but unallocated."
)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ("I do not have a GPU and installed torch for the CPU.", "as was meant"),
        ("I use a MacBook with an M1.", "as none has on a Mac"),
    ],
)
def test_who_has_no_nvidia_gpu_is_given_no_build_for_it(told: str, says: str) -> None:
    found = root(told, NOT_COMPILED)
    assert found.rule == "torch/cpu-only"
    assert says in whole(found)
    assert "map_location='cpu'" in found.remedy.text
    assert not found.remedy.commands


def test_who_has_a_card_of_amds_is_given_no_build_for_cuda() -> None:
    (found,) = errors("I have an AMD Radeon RX 7900 XTX.", NOT_COMPILED)
    assert "ROCm" in found.remedy.text
    assert not any("--torch-backend" in command for command in found.remedy.commands)


def test_who_has_one_is_given_the_build() -> None:
    found = root("I have an RTX 3060 and do not want to use the CPU.", NOT_COMPILED)
    assert "although there is RTX 3060" in found.message
    assert any("--torch-backend" in command for command in found.remedy.commands)
    bare = root(NOT_COMPILED)
    assert "although there is" not in bare.message
    assert " Usually it was installed" in bare.message
    assert "map_location='cpu'" in bare.remedy.text


def test_memory_that_this_process_holds_itself_is_no_other_ones() -> None:
    own = root(FULL.format(own="94.14 GiB", used="85.75 GiB", idle="3.97 GiB"))
    assert "of which this process holds 94.14 GiB itself" in own.message
    assert "other processes" not in own.remedy.text
    shared = root(FULL.format(own="60.00 GiB", used="58.00 GiB", idle="1.00 GiB"))
    assert "other processes" in shared.remedy.text


def test_memory_that_torch_reserved_and_does_not_use_comes_first() -> None:
    found = root(FULL.format(own="94.14 GiB", used="60.00 GiB", idle="30.00 GiB"))
    assert "30.0 GiB of it reserved by torch and unused" in found.message
    assert found.remedy.text.startswith("Much of it lies in pieces")


def test_the_memory_of_javas_heap_is_not_the_gpus() -> None:
    assert not errors("java.lang.OutOfMemoryError: Java heap space", "Error: the job failed")


def test_cublas_without_memory_may_follow_an_earlier_failure() -> None:
    found = root("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")
    certain, _, likely = found.message.partition(" Usually ")
    assert "full" not in certain
    assert "index" in likely


def test_an_assertion_that_is_shown_is_named_and_none_other_guessed() -> None:
    shown = errors(
        "../aten/src/ATen/native/cuda/Own.cu:110: kernel: block: [0,0,0], thread: [0,0,0] Assertion `k < most` failed.",
        "RuntimeError: CUDA error: device-side assert triggered",
    )
    (found,) = [one for one in shown if one.rule == "torch/cuda-error"]
    assert "Assertion k < most failed" in found.message
    assert "Usually" not in found.message


@pytest.mark.parametrize(
    ("library", "have", "least", "says"),
    [("cuDNN", "8907", "9100", "(8.9.7)"), ("cuBLAS", "110903", "120100", "(110903)")],
)
def test_jax_names_the_library_that_is_too_old(library: str, have: str, least: str, says: str) -> None:
    found = root(
        "Unable to use CUDA because of the following issues with CUDA components:",
        f"Outdated {library} installation found.",
        f"Version JAX was built against: {have}",
        f"Minimum supported: {least}",
        f"Installed version: {have}",
    )
    assert found.rule == "torch/cudnn"
    assert f"The {library} that JAX finds {says} is too old for this JAX" in found.message
    assert ("9.1.0" if library == "cuDNN" else least) in found.message


def test_a_part_of_cudnn_that_does_not_load_proves_no_second_one() -> None:
    found = root("RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED")
    assert "Two releases" not in found.message
    assert "a part of it does not load" in found.message
    mixed = root("RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH")
    assert "Two releases of cuDNN" in mixed.message


def test_a_function_that_the_driver_lacks_is_not_torchs() -> None:
    found = root("XlaRuntimeError: INTERNAL: CUDA error: API call is not supported in the installed CUDA driver")
    assert found.kind == "driver-too-old"
    assert "torch" not in whole(found)
