"""nvcc's path tells which toolkit refused a GPU; torch's CUDA, which of the ways out are none."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts
from envdoctor.knowledge.toolkits import newest_gcc, span_of
from envdoctor.rules.torch.unknown_architecture import unknown_architecture
from tests.rules.judging import skipped
from tests.rules.told import errors, root, whole

REFUSED = "nvcc fatal   : Unsupported gpu architecture 'compute_{}'"
FAILED = "error: command '/usr/local/cuda-{}/bin/nvcc' failed with exit code 1"


def test_a_toolkit_that_is_too_old_and_of_another_cuda() -> None:
    found = root(REFUSED.format(86), FAILED.format("10.2"), "torch==1.13.1+cu117")
    assert found.rule == "torch/unknown-architecture"
    assert "nvcc of CUDA 10.2, which knows compute_86 from 11.1 on" in found.message
    assert "toolkit of CUDA 11.7, torch's own (its nvcc takes gcc up to 11)" in whole(found)
    assert "TORCH_CUDA_ARCH_LIST" not in whole(found)


def test_a_shorter_list_helps_where_the_cuda_is_the_same() -> None:
    found = root(REFUSED.format(89), FAILED.format("11.3"), "torch==2.0.1+cu118")
    assert "leave 89 out of TORCH_CUDA_ARCH_LIST" in whole(found)


def test_a_toolkit_that_is_too_new() -> None:
    line = r"error: command 'C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v13.0\\bin\\nvcc' failed"
    found = root(REFUSED.format(61), line, "torch==2.9.0+cu130")
    assert "and 12.9 was the last that knew compute_61" in found.message
    assert found.remedy.text.startswith("Leave 61 out")
    assert "Torch must then be a build for that CUDA" in found.remedy.text


def test_one_failure_is_one_finding() -> None:
    assert len(errors(REFUSED.format(86), FAILED.format("10.2"))) == 1


@pytest.mark.parametrize("path", ["/usr/bin/nvcc", "/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc"])
def test_a_path_without_a_number_leaves_it_to_the_table(path: str) -> None:
    assert root(REFUSED.format(86), f"error: command '{path}' failed").rule == "packages/known-errors"


def test_what_is_not_known_is_skipped() -> None:
    assert skipped(unknown_architecture, Facts())


@pytest.mark.parametrize(
    ("cuda", "gcc"),
    [
        ("8.0", 5),
        ("10.0", 7),
        ("10.2", 8),
        ("11.8", 11),
        ("12.9", 14),
        ("13.0", 15),
        ("13.5", 16),
        ("7.5", None),
        (None, None),
    ],
)
def test_the_newest_gcc(cuda: str | None, gcc: int | None) -> None:
    assert newest_gcc(cuda) == gcc


def test_the_ends_of_an_architecture() -> None:
    assert span_of("90a") == ("11.8", "")
    assert span_of("37") == ("", "11.8")
    assert span_of("99") is None


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (("torch==1.5.0+cu101",), "gxx_linux-64=8"),
        (("torch==2.1.0+cu118",), "gxx_linux-64=11"),
        ((FAILED.format("11.1"), "torch==1.8.1+cu111"), "gxx_linux-64=10"),
        ((), "gxx_linux-64=12"),
    ],
)
def test_a_newer_gcc_stays_below_what_nvcc_takes(lines: tuple[str, ...], wanted: str) -> None:
    found = root("g++: error: unrecognized command line option '-std=c++14'", *lines)
    assert found.remedy.commands == (f"conda install -c conda-forge {wanted}",)


def test_no_gcc_of_condas_is_old_enough() -> None:
    found = root("gcc: error: unrecognized command line option '-std=c++14'", "torch==1.0.0+cu90")
    assert "no newer than 6" in found.remedy.text
    assert not found.remedy.commands
