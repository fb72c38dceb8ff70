"""Errors of installing and building that two lines tell together, and those that one line alone must not tell."""

from __future__ import annotations

import pytest

from envdoctor.facts.need import known
from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import Diagnosis, diagnose
from envdoctor.rules.finding import ERROR
from envdoctor.values import shell
from tests.rules.told import errors

RULES = load_rules()


def judged(text: str) -> Diagnosis:
    return diagnose(read(text), no_target(), RULES)


@pytest.mark.parametrize("image", ["python:3.11-slim", "nvidia/cuda:12.4.1-runtime-ubuntu22.04", "docker.io/debian:12"])
def test_an_image_without_a_compiler_for_cuda_is_the_cause(image: str) -> None:
    root = judged(f"FROM {image}\nRUN pip install torch\nERROR: Failed building wheel for causal-conv1d").root_cause
    assert root is not None
    assert root.subject == "the base image"


def test_an_image_with_a_compiler_is_not() -> None:
    root = judged("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nERROR: Failed building wheel for gsplat").root_cause
    assert root is None or root.subject != "the base image"


def test_a_header_of_python_that_a_build_misses_is_not_torch_compiles() -> None:
    text = "Building wheel for spam (setup.py)\n"
    text += "a/torch/include/torch/csrc/python_headers.h:12:10: fatal error: Python.h: No such file"
    subjects = {one.subject for one in judged(text).findings}
    assert "Python's headers" in subjects
    assert "torch.compile" not in subjects


def test_numpy_that_torch_would_like_in_a_build_is_no_error() -> None:
    text = "UserWarning: Failed to initialize NumPy: No module named 'numpy' (Triggered internally at a.cpp:81.)"
    assert not any(one.severity is ERROR for one in judged(text).findings)


def test_a_line_of_an_environment_s_report_is_no_failed_import() -> None:
    text = "detectron2._C           not built correctly: No module named 'detectron2'\nnumpy  1.23.4"
    assert not any(one.severity is ERROR for one in judged(text).findings)


def test_what_a_deepspeed_that_fails_to_build_lacks_is_said_as_no_more_than_usual() -> None:
    root = judged("ERROR: Failed building wheel for deepspeed").root_cause
    assert root is not None
    proved, usually = root.message.split(" Usually ")
    assert "torch" not in proved
    assert "torch is not there while it is built" in usually


def test_another_major_toolkit_is_a_warning_where_a_build_failed() -> None:
    text = (
        "torch: 2.5.1+cu124\nCuda compilation tools, release 11.5, V11.5.119\nERROR: Failed building wheel for gsplat"
    )
    root = judged(text).root_cause
    assert root is not None
    assert root.rule == "torch/nvcc"


def test_what_a_custom_node_lacks_is_installed_into_comfyui_s_python() -> None:
    text = "Cannot import C:\\ComfyUI\\custom_nodes\\Spam module for custom nodes\n"
    text += "ModuleNotFoundError: No module named 'spamlib'"
    root = judged(text).root_cause
    assert root is not None
    assert root.subject == "spamlib"
    assert "custom node" in root.message


@pytest.mark.parametrize(
    ("folder", "python", "narrow"),
    [
        ("build/lib.linux-x86_64-cpython-312/spam", "3.12", False),
        ("build\\lib.win-amd64-3.8\\spam", "3.8", False),
        ("build/temp.macosx-15.0-arm64-cpython-313", "3.13", False),
        ("build\\lib.win32-cpython-38\\spam", "3.8", True),
        ("build/lib.linux-i686-3.9/spam", "3.9", True),
    ],
)
def test_the_folder_that_is_built_in_names_python_and_its_width(folder: str, python: str, narrow: bool) -> None:
    facts = read(f"Building wheel for spam (setup.py) ... error\ncreating {folder}\n")
    interpreter = known(facts.interpreter)
    assert interpreter is not None
    assert interpreter.version == python
    assert any("32 bits" in text for text in facts.messages) is narrow


def test_another_python_than_the_one_that_fails_is_advised() -> None:
    text = "creating build/lib.linux-x86_64-cpython-311/pyarrow\nERROR: Failed building wheel for pyarrow"
    root = judged(text).root_cause
    assert root is not None
    assert root.remedy.commands == ("uv venv --python 3.10 .venv",)


def test_what_a_nested_pip_takes_as_sources_is_what_fails() -> None:
    text = "× pip subprocess to install build dependencies did not run successfully.\n"
    text += "Collecting pyarrow<9\nUsing cached pyarrow-8.0.0.tar.gz (846 kB)\nGetting requirements to build w"
    assert any("sources of pyarrow-8.0.0" in message for message in read(text).messages)


def test_settings_are_written_as_the_shell_of_windows_reads_them() -> None:
    assert shell.for_windows("export A=1") == "set A=1"
    assert shell.for_windows("python -c \"print('a')\"") == "python -c \"print('a')\""
    assert shell.for_windows("python -c 'print(\"a\")'") == "python -c \"print('a')\""
    assert shell.for_windows("python -m pip install 'a<2' 'b'") == 'python -m pip install "a<2" "b"'
    assert shell.for_windows("export A='x y' B=2") == 'set "A=x y" && set "B=2"'
    assert shell.for_windows("export A=$(python -c 1)") == ""
    assert shell.for_windows("rm -rf build") == ""


def test_a_sentence_that_a_launcher_breaks_is_joined() -> None:
    text = (
        "`ERROR: Cannot install torch==2.0.0, torchvision==0.16.0,\n      torchvision==0.17.0 because these package\n"
    )
    text += "      versions have conflicting\n      dependencies.`"
    root = judged(text).root_cause
    assert root is not None
    assert root.kind in ("package-conflict", "torch-pair-mismatch")


def test_what_pip_offers_may_stand_in_the_next_line() -> None:
    text = "Could not find a version that satisfies the requirement spam==1.2 (from -r a.txt (line 1))\n"
    root = judged(f"{text}(from versions: 1.1, 1.3)").root_cause
    assert root is not None
    assert root.rule == "packages/no-such-release"


def test_options_that_forbid_wheels_take_the_empty_torch() -> None:
    text = "UserWarning: Disabling all use of wheels due to the use of --build-options / --install-options.\n"
    root = judged(f"{text}Downloading torch-0.1.2.post2.tar.gz (128kB)").root_cause
    assert root is not None
    assert root.subject == "pip's options"


def test_a_cuda_version_beside_a_torch_without_label_proves_no_old_driver() -> None:
    findings = judged("CUDA version: 10.1\ntorch version: 1.6.0\nRuntimeError: spam").findings
    assert not any(one.severity is ERROR for one in findings if one.rule == "torch/driver-too-old")


def test_of_errors_that_were_mended_one_after_the_other_the_last_one_stands() -> None:
    text = "I received ModuleNotFoundError: No module named 'scipy'\nFixed that by pip install scipy\n"
    root = judged(f"{text}Then I received ModuleNotFoundError: No module named 'spamlib'").root_cause
    assert root is not None
    assert root.subject == "spamlib"


def test_what_a_readme_asks_of_gcc_in_brackets_is_no_error() -> None:
    findings = judged("# An error in compiling the layer (requires GCC >= 5.4)").findings
    assert not any(one.subject == "the C++ compiler" for one in findings)


STOPPED = """Collecting tokenizers
  Using cached tokenizers-{}.tar.gz (300 kB)
  Preparing metadata (pyproject.toml) ... error
  error: subprocess-exited-with-error
      Cargo, the Rust package manager, is not installed or is not on PATH.
      This package requires Rust and Cargo to compile extensions. Install it through
error: metadata-generation-failed
"""


@pytest.mark.parametrize(
    ("python", "version", "first"),
    [
        ("conda create -n new python=3.12", "0.15.0", "tokenizers 0.15.1 is the first"),
        ("python3.11 -m venv .venv", "0.12.1", "tokenizers 0.13.2 is the first"),
        ("conda create -n old python=3.11", "0.15.0", ""),
        ("conda create -n old python=3.8", "0.15.0", ""),
        ("", "0.15.0", ""),
    ],
)
def test_sources_without_a_wheel_are_one_failure_in_its_own_words(python: str, version: str, first: str) -> None:
    (found,) = errors(python, STOPPED.format(version))
    assert found.subject == "tokenizers"
    assert "Failed building wheel" not in found.message
    assert ("is the first with wheels" in found.remedy.text) is bool(first)
    assert first in found.remedy.text
