"""Who is to blame is taken from the text: the library that speaks, the folder that was built before, the container."""

from __future__ import annotations

import pytest

from envdoctor.rules.finding import Finding, Severity
from tests.rules.packages.test_known_errors import judged

JIT = """Emitting ninja build file /src/ops/build/build.ninja...
Building extension module ops...
ninja: no work to do.
Loading extension module ops...
ImportError: libcudart.so.9.2: cannot open shared object file: No such file or directory
"""
CUDART = "ImportError: libcudart.so.10.1: cannot open shared object file: No such file or directory"
XLA = (
    "E0101 00:00:00.000000 1 cuda_dnn.cc:454] Loaded runtime CuDNN library: 9.5.1 but source was compiled with: 9.8.0. "
    "CuDNN library needs to have matching major version and equal or higher minor version."
)
DEVICES = (
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1!"
)
WHOLE = ", ".join(f"'transformer.h.{number}': {number // 20}" for number in range(40))
CUT = f"device_map = {{{WHOLE}, 'transformer.h.40.ln_1': 0, 'transformer.h.40.mlp.c_proj': 1}}"
WORKER = (
    "RuntimeError: DataLoader worker (pid 17) is killed by signal: Bus error. It is possible that dataloader's workers "
    "are out of shared memory. Please try to raise your shared memory limit."
)
MISMATCH = """NVRM: API mismatch: the client has the version 430.26, but
NVRM: this kernel module has the version 410.93"""
INSIDE = f"/.singularity.d/env/10-docker.sh: cannot open 385: No such file\n{MISMATCH}"
NO_WHEEL = "Compiling lock_api v0.3.4\nerror[E0557]: feature has been removed\nFailed to build: lock_api-0.3.4"
WARNED = """Traceback (most recent call last):
/env/lib/python3.10/site-packages/bitsandbytes/cextension.py:34: UserWarning: something is slow here
ImportError: cannot import name 'BitsAndBytesConfig' from 'transformers' (/env/transformers/__init__.py)"""


def findings(text: str) -> tuple[Finding, ...]:
    return tuple(one for one in judged(text).findings if one.severity is not Severity.NOTE)


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        (JIT, "loaded from its build folder", "Delete its build folder"),
        (CUDART, "asks for the run-time library of CUDA 10", "against the installed torch"),
        (XLA, "built with cuDNN 9.8.0 and finds 9.5.1", "9.8.0 or later"),
        (f"{DEVICES}\n{CUT}", "cuts one block of the model in two", "whole to one GPU"),
        (DEVICES, "lies on another device", "batch.to"),
        (f"{WORKER}\n/dev/shm is 64G here", "tells of a larger one", "dmesg"),
        (WORKER, "A loader worker ended in a bus error", "shared memory"),
        (MISMATCH, "kernel module (410.93) and the driver's libraries (430.26)", "Reboot"),
        (INSIDE, "430.26", "its image install no driver"),
        (NO_WHEEL, "lock_api 0.3", "Python 3.8"),
        (WARNED, "the code that imports it needs it", "transformers>=4.27.0"),
    ],
)  # fmt: skip
def test_what_a_text_says_itself(text: str, said: str, remedy: str) -> None:
    found = findings(text)
    assert said in found[0].message
    assert remedy in found[0].remedy.text or any(remedy in one.remedy.text for one in found if said in one.message)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (CUDART, "vllm"),
        (JIT, "vllm"),
        (XLA, "torch finds"),
        (INSIDE, "sudo reboot"),
    ],
)
def test_nothing_is_said_of_what_is_not_there(text: str, word: str) -> None:
    said = " ".join(f"{one.message} {one.remedy.text} {' '.join(one.remedy.commands)}" for one in findings(text))
    assert word not in said.lower()


NOTICE = """ERROR: Detected Tesla V100S-PCIE-32GB GPU, which is not supported by this container
ERROR: No supported GPU(s) detected to run this container
[[System has unsupported display driver / cuda driver combination (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) cuInit()=803]]
"""
IN_USE = "RuntimeError: The server socket has failed to bind to [::]:29601 (errno: 98 - Address already in use)."
HEADER = "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NOTICE, "no longer holds code for Tesla V100S-PCIE-32GB"),
        ("ERROR: Detected NVIDIA H100 GPU, which is not yet supported in this version of the container", "before this"),
        (f"{IN_USE}\nsrun: error: node1: tasks 0-5,7: Exited with exit code 1", "Several tasks of Slurm"),
        (IN_USE, "processes of an earlier run are still there"),
        (f"python generate.py --model_path ./dress.jpg\n{HEADER}", "no weights (a picture"),
        (HEADER, "is not whole"),
        ('An error encountered: "invalid device function" at ./sort/main.hip:204', "no code that the AMD GPU can run"),
        (
            "AttributeError: module 'gradio.components' has no attribute 'FormComponent'",
            "it is 3.35.0 or later, which dropped it",
        ),
    ],
)
def test_what_stands_beside_it_decides(text: str, said: str) -> None:
    assert said in findings(text)[0].message


def test_a_notice_of_the_image_is_no_failure_to_start() -> None:
    assert not [one for one in findings(NOTICE) if one.rule == "driver/cuda-init"]
