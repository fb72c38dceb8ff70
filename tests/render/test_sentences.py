"""What to do is read, also where a command stands beside it that only looks."""

from __future__ import annotations

import pytest

from envdoctor import doctor
from envdoctor.facts.pasted import read
from envdoctor.render.brief import report
from envdoctor.render.document import document
from envdoctor.render.page import laid_out
from envdoctor.render.text import text
from envdoctor.rules.checkup import CheckOptions, Checkup

SLOW = "# Training is super slow\nThe images lie on an NFS share, GPU usage 10 %\n"
CONFLICT = (
    "NCCL WARN Connect to 10.1.2.3<4711> failed : Connection refused\ndist_init_method: file:///scratch/meet\n"
    "NCCL error in: ProcessGroupNCCL.cpp:410, unhandled system error, NCCL version 2.4.8\n"
)


def judged(pasted: str) -> Checkup:
    return doctor.judge(read(pasted), CheckOptions(target="none"))


@pytest.mark.parametrize(
    ("pasted", "sentences", "command"),
    [
        (SLOW, ("Give the loader several workers", "Copy the data set to a local SSD"), "nvidia-smi dmon"),
        (CONFLICT, ("Delete the file before each start", "Run once with NCCL_DEBUG=WARN"), "export NCCL_DEBUG=WARN"),
    ],
)
def test_of_few_findings_all_sentences_are_read(pasted: str, sentences: tuple[str, ...], command: str) -> None:
    shown = " ".join(laid_out(text(judged(pasted))).split())
    for words in (*sentences, command):
        assert words in shown


def test_a_sentence_without_a_command_is_read_by_programs_too() -> None:
    shown = " ".join(report(document(judged(CONFLICT))).split())
    assert "Delete the file before each start" in shown
    assert "export NCCL_DEBUG=WARN" in shown


EMPTY = "ValueError: num_samples should be a positive integer value, but got num_samples=0\n"


def test_what_is_likely_begins_a_line_of_its_own() -> None:
    lines = [line.strip() for line in laid_out(text(judged(EMPTY))).splitlines()]
    assert [line for line in lines if line.startswith("Usually ")]


def test_a_line_that_the_sentence_quotes_is_printed_once() -> None:
    shown = " ".join(laid_out(text(judged(EMPTY))).split())
    assert shown.count("got num_samples=0") == 1


@pytest.mark.parametrize(
    ("pasted", "heading", "never"),
    [
        (
            "macOS 14 on my M2 MacBook\nAssertionError: Torch not compiled with CUDA enabled\n",
            "The code asks for CUDA, and this torch has none in it",
            "with an NVIDIA GPU",
        ),
        (
            "RuntimeError: CUDA error: invalid device ordinal\n",
            "A GPU is asked for by a number that this process does not have",
            "More processes are started",
        ),
        (
            "ImportError: DLL load failed while importing flash_attn_2_cuda: The specified module was not found.\n",
            "A compiled extension does not load",
            "was built for another torch, CUDA, Python or C++ ABI",
        ),
        (
            "Could not load library libcudnn_cnn_infer.so.8. Error: libcudnn_cnn_infer.so.8: cannot open shared object "
            "file: No such file or directory\n",
            "A part of cuDNN 8 is asked for and does not load",
            "Another cuDNN is loaded",
        ),
        (
            "RuntimeError: No CUDA GPUs are available\n",
            "CUDA finds no GPU that this process may use",
            "The driver is loaded",
        ),
        (
            "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that dataloader's "
            "workers are out of shared memory. Please try to raise your shared memory limit.\n",
            "A loader worker ended in a bus error",
            "is too small for loader workers",
        ),
    ],
)
def test_a_heading_is_true_of_what_stands_below_it(pasted: str, heading: str, never: str) -> None:
    shown = " ".join(laid_out(text(judged(pasted))).split())
    assert heading in shown
    assert never not in shown
