from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts, Host, Torch
from envdoctor.rules.torch.nvcc import nvcc
from tests.rules.cuda_machines import brief, machine, only, pasted
from tests.rules.judging import findings, silent, skipped

STOPPED = (
    "RuntimeError: The detected CUDA version ({}) mismatches the version that was used to compile\nPyTorch ({}). Please"
)


def report(toolkit: str, cuda: str, *messages: str) -> Facts:
    return pasted(*messages, host=Host(nvcc=toolkit), torch=Torch(version="2.2.0", cuda=cuda))


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        (report("12.9", "11.8", STOPPED.format("12.9", "11.8")), "error"),
        (pasted(STOPPED.format("10.1", "11.3")), "error"),
        (pasted("detected CUDA version (12.9) mismatches the version used to compile PyTorch (11.8)"), "error"),
        (
            pasted("Installed CUDA version 12.1 does not match the version torch was compiled with 11.7, unable"),
            "error",
        ),
        (report("11.8", "12.1"), "note"),  # nobody wanted to compile anything yet
    ],
)
def test_found(facts: Facts, severity: str) -> None:
    assert brief(nvcc, facts) == [f"{severity} nvcc-mismatch nvcc"]


def test_healthy() -> None:
    assert silent(nvcc, report("12.5.82", "12.4"))
    assert silent(nvcc, report("12.3", "12.1"))
    assert skipped(nvcc, report("", "12.1"))
    assert skipped(nvcc, report("12.5", ""))


def test_remedy_names_the_toolkit() -> None:
    found = only(nvcc, report("12.9", "11.8", STOPPED.format("12.9", "11.8")))
    assert found.remedy.commands == ("export CUDA_HOME=/usr/local/cuda-11.8",)
    assert (found.actual, found.expected) == ("12.9", "CUDA 11.x, best 11.8, or a torch for the toolkit's own line")


@pytest.mark.parametrize(
    ("toolkits", "commands"),
    [
        (("13.0",), ()),  # a probe has looked: there is none to point to
        (("12.4", "13.0"), ("export CUDA_HOME=/usr/local/cuda-12.4",)),
        (("12.4", "12.6", "13.0"), ("export CUDA_HOME=/usr/local/cuda-12.6",)),
    ],
)
def test_only_a_toolkit_that_is_there_is_named(toolkits: tuple[str, ...], commands: tuple[str, ...]) -> None:
    facts = machine(host=Host(nvcc="13.0", toolkits=toolkits), torch=Torch(version="2.7.1+cu126", cuda="12.6"))
    remedy = only(nvcc, facts).remedy
    assert remedy.commands == commands
    assert commands or "toolkit of CUDA 12.x" in remedy.text


def test_numbers_are_read_though_a_frame_names_the_exception_before_them() -> None:
    said = "Installed CUDA version 12.4 does not match the version torch was compiled with 11.7, unable to compile"
    found = only(
        nvcc, pasted("raise CUDAMismatchException(", f"CUDAMismatchException: >- DeepSpeed Op Builder: {said}")
    )
    assert (found.actual, found.expected) == ("12.4", "CUDA 11.x, best 11.7, or a torch for the toolkit's own line")


def test_without_numbers_no_number_is_made_up() -> None:
    found = only(nvcc, pasted("builder.CUDAMismatchException"))
    assert (found.actual, found.expected) == ("another CUDA", "the CUDA that torch is built for")
    assert "torch is built for another one" in found.message


def test_a_toolkit_that_was_passed_over() -> None:
    facts = pasted(STOPPED.format("10.2", "12.1"), host=Host(nvcc="12.1.105"))
    (found,) = findings(nvcc, facts)
    assert "The toolkit that the build found" in found.message
    assert "CUDA_HOME or CUDA_PATH" in found.message.partition(" Usually ")[2]
    assert "while a toolkit of CUDA 12.1 is here as well" in found.message


def test_a_folder_of_torchs_own_line() -> None:
    (found,) = findings(nvcc, pasted(STOPPED.format("10.2", "12.1"), "ls: /usr/local/cuda-12.1"))
    assert "is here as well" in found.message
    (found,) = findings(nvcc, pasted(STOPPED.format("10.2", "12.1"), "ls: /usr/local/cuda-10.2"))
    assert "is here as well" not in found.message


@pytest.mark.parametrize(
    ("toolkit", "cuda", "command"),
    [
        ("11.8", "12.1", "uv pip install --torch-backend=cu118"),
        ("12.2", "11.3", "uv pip install --torch-backend=cu121"),  # for 12.2 there was none
        ("9.0", "12.1", ""),
    ],
)
def test_a_torch_of_the_toolkits_major_version_is_the_other_way(toolkit: str, cuda: str, command: str) -> None:
    words = (
        f"RuntimeError: The detected CUDA version ({toolkit}) mismatches the version that was used to compile PyTorch "
        f"({cuda}). Please make sure to use the same CUDA versions."
    )
    instead = only(nvcc, pasted(words)).remedy.instead
    assert [each.startswith(command) for each in instead] == ([True] if command else [])
