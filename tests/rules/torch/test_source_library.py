"""A CUDA error whose line names a source file was met in the code of that library."""

from __future__ import annotations

import pytest

from tests.rules.told import root, whole

ILLEGAL = "an illegal memory access was encountered"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (
            f"/home/u/src/tiny-cuda-nn/include/tiny-cuda-nn/gpu_memory.h:459 cudaFree(p) failed with error {ILLEGAL}",
            "tiny-cuda-nn",
        ),
        (
            f"RuntimeError: /x/submodules/diff-gaussian-rasterization/cuda_rasterizer/../src/forward.cu:12: {ILLEGAL}",
            "diff-gaussian-rasterization",
        ),
        (f"CUDA error (/tmp/build/spconv/csrc/all.cu:77): {ILLEGAL}", "spconv"),
        (r"CUDA error: misaligned address at C:\w\natten\csrc\src\na1d.cu:20", "natten"),
    ],
)
def test_it_is_named_first(line: str, name: str) -> None:
    found = root("The run stops", line)
    assert f"Usually it is {name} itself" in found.message
    assert name in found.remedy.text


@pytest.mark.parametrize(
    "line",
    [
        f"RuntimeError: CUDA error: {ILLEGAL}",
        f"CUDA error: {ILLEGAL}. Exception raised from c10_cuda_check at ../c10/cuda/CUDAException.cpp:43",
        f"CUDA error: {ILLEGAL} at /pytorch/aten/src/ATen/native/cuda/Loss.cu:25",
        f"RuntimeError: /usr/local/cuda-12.1/include/thrust/system/cuda/util.h:3: {ILLEGAL}",
        "RuntimeError: CUDA out of memory at /x/spconv/csrc/all.cu:77",
    ],
)
def test_torch_s_own_files_name_nobody(line: str) -> None:
    assert "itself, whose source file" not in whole(root("The run stops", line))
