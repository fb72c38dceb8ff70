"""What is said in passing is the weakest claim, and none where a text names several."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from tests.facts.pasted.reading import driver, gpus, host, interpreter, torch, versions

ERROR = "RuntimeError: something failed"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("PyTorch 2.9 + cu128 on Windows fails", "2.9+cu128"),
        ("I use torch 2.6.0+cpu here", "2.6.0+cpu"),
        ("## Crash with torch2.6.0+cu126", "2.6.0+cu126"),
        ("PyTorch 2.9.0 is slow compared to PyTorch 2.7.1", "2.9.0"),
    ],
)
def test_a_release_in_a_sentence(text: str, version: str) -> None:
    assert torch(f"{text}\n{ERROR}").version == version


@pytest.mark.parametrize(
    "text",
    [
        "this needs torch 2.6 or later",
        "it worked with torch 2.4.0 and now it fails",
        "please upgrade to PyTorch 2.8",
        "I tried torch 2.4.0, torch 2.5.1 and torch 2.6.0",
    ],
)
def test_another_release_is_not_the_installed_one(text: str) -> None:
    assert "torch" not in versions(f"{text}\n{ERROR}\npip==25.0")


def test_what_a_tool_says_outranks_it() -> None:
    assert torch("torch 2.6.0 crashes here\nPyTorch version: 2.9.1+cu128").version == "2.9.1+cu128"


def test_a_gpu_a_driver_and_a_python() -> None:
    text = f"On my RTX 5090 with driver 572.16 and Python 3.12 this fails\n{ERROR}"
    assert gpus(text).devices[0].name == "RTX 5090"
    assert driver(text).kernel_module == "572.16"
    assert interpreter(text).version == "3.12"


def test_two_gpus_are_none() -> None:
    assert not hasattr(read(f"Fine on an A100, not on the RTX 5090\n{ERROR}").gpus, "devices")


def test_paths_tell_python_and_windows() -> None:
    text = f'File "C:\\Users\\me\\venv\\Lib\\site-packages\\torch\\__init__.py", line 9\n{ERROR}'
    assert host(text).system == "Windows"
    assert interpreter(f'File "/x/lib/python3.11/site-packages/a.py", line 9\n{ERROR}').version == "3.11"


def test_a_log_of_pip() -> None:
    text = (
        "Collecting torch==2.3.0\n  Downloading torch-2.3.0-cp310-cp310-win_amd64.whl (200 MB)\n"
        "Requirement already satisfied: numpy in c:\\x\\lib (from torch) (1.26.4)\n"
        "Successfully installed torch-2.3.0 sympy-1.13.1\n"
    )
    assert versions(text) == {"torch": "2.3.0", "numpy": "1.26.4", "sympy": "1.13.1"}
    assert (host(text).system, interpreter(text).version) == ("Windows", "3.10")
    assert "install-log" in read(text).origin.formats


def test_a_log_of_uv() -> None:
    text = (
        "DEBUG Found `cpython-3.13.0-windows-x86_64-none` at `D:\\x\\python.exe`\n"
        "DEBUG Adding direct dependency: torch>=2.3.0, <2.3.0+\nDEBUG No compatible version found for: torch\n"
    )
    assert interpreter(text).version == "3.13.0"
    assert "No matching distribution found for torch==2.3.0" in read(text).messages


def test_the_library_that_raised_is_named() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/env/lib/python3.12/site-packages/gradio/oauth.py", line 13, in <module>\n'
        "    from huggingface_hub import HfFolder\n"
        "ImportError: cannot import name 'HfFolder' from 'huggingface_hub'\n"
    )
    assert read(text).messages[0].endswith("[raised in gradio]")


def test_a_traceback_without_its_end_is_said_to_be_cut() -> None:
    assert "last line" in read('Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n').messages[-1]


@pytest.mark.parametrize(
    "line",
    [
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.",
        'Please set `NCCL_P2P_DISABLE="1"` and `NCCL_IB_DISABLE="1"` or use `accelerate launch`',
        "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        "I tried setting OMP_NUM_THREADS=1 without success",
    ],
)
def test_advice_sets_no_variable(line: str) -> None:
    assert not isinstance(read(f"RuntimeError: it failed. {line}").variables, dict)


def test_a_command_does() -> None:
    assert read("CUDA_LAUNCH_BLOCKING=1 python train.py\ntorch==2.9.1").variables == {"CUDA_LAUNCH_BLOCKING": "1"}


def test_the_python_of_a_tools_own_environment_is_not_that_of_the_project() -> None:
    text = "RuntimeError: no file\n  at ~/.local/pipx/venvs/poetry/lib/python3.13/site-packages/poetry/chooser.py:74"
    assert not hasattr(read(text).interpreter, "version")
