"""Known messages in other capitals than the tool's: titles, and what people type themselves."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted.capitals import as_written
from envdoctor.rules.diagnose import diagnose
from tests.rules.told import RULES, no_target, read

KNOWN = [
    "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    "AssertionError: Torch not compiled with CUDA enabled",
    "RuntimeError: No CUDA GPUs are available",
    "RuntimeError: Cannot find a working triton installation",
    "RuntimeError: operator torchvision::nms does not exist",
    "ImportError: cannot import name 'cached_download' from 'huggingface_hub'",
    "OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already initialized.",
    "RuntimeError: CUDA error: device-side assert triggered",
]


def rule_of(line: str) -> str:
    found = diagnose(read(line), no_target(), RULES).root_cause
    assert found is not None, line
    return f"{found.rule} {found.subject}"


@pytest.mark.parametrize("line", KNOWN)
def test_capitals_change_no_cause(line: str) -> None:
    error, _, words = line.partition(": ")
    assert rule_of(line.lower()) == rule_of(line)
    assert rule_of(f"{error}: {words[0].swapcase()}{words[1:]}") == rule_of(line)


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("CUDA error: No Kernel Image Is Available For Execution On The Device", KNOWN[0].partition(": ")[2]),
        ("runtimeerror : x", "RuntimeError : x"),
        ("modulenotfounderror: no module named 'Einops'", "ModuleNotFoundError: No module named 'Einops'"),
        ("a runtimeerror in a sentence", "a runtimeerror in a sentence"),
        ("Undefined symbols for architecture arm64", "Undefined symbols for architecture arm64"),
    ],
)
def test_only_known_sentences_and_no_names_are_changed(line: str, written: str) -> None:
    assert as_written(line) == written


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Torch not being compiled with CUDA enabled", "torch/cpu-only"),
        ("The viewer exits and tells that pytorch was not built with CUDA support.", "torch/cpu-only"),
        ("My notebook complains that torch has been compiled without CUDA.", "torch/cpu-only"),
        ("It stops at the start, not finding a module called einops.", "packages/known-errors"),
        ("After that it warns about tensors being on different devices and ends.", "packages/known-errors"),
        ("The worker dies with a device side assert in the embedding.", "torch/cuda-error"),
        ("After two hours there are illegal memory accesses in a kernel.", "torch/cuda-error"),
        ("The import ends since GLIBC_2.34 could not be found.", "packages/known-errors"),
        ("It cannot import the name cached_download from huggingface_hub.", "packages/import-mismatch"),
        ("The epoch ends with CUDA running out of memory.", "torch/cuda-error"),
    ],
)
def test_known_messages_in_a_persons_words(text: str, rule: str) -> None:
    found = diagnose(read(f"What can I do about this problem?\n\n{text}\n"), no_target(), RULES).root_cause
    assert found is not None
    assert found.rule == rule


@pytest.mark.parametrize(
    "text",
    [
        "The error: this torch is not compiled with CUDA 12 but with 11.8",
        "pytorch compiled with CUDA 11.8, the driver is of 12.2: error at the start",
        "The error says that the extension was not compiled with CUDA",
    ],
)
def test_other_sentences_about_cuda_are_no_cpu_build(text: str) -> None:
    found = diagnose(read(f"# A problem\n{text}\n"), no_target(), RULES).findings
    assert "torch/cpu-only" not in {one.rule for one in found}


def test_quotes_that_an_editor_made_are_plain_again() -> None:
    line = "ImportError: cannot import name \u2018a_name\u2019 from \u2018package.module\u2019"
    assert as_written(line) == "ImportError: cannot import name 'a_name' from 'package.module'"
