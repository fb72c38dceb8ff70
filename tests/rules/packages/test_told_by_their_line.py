"""What an error's own line tells apart is told apart, and what it does not prove is said as usual only."""

from __future__ import annotations

import pytest

from envdoctor.rules.finding import Finding, Severity
from tests.rules.packages.test_known_errors import judged
from tests.rules.told import errors


def findings(text: str) -> tuple[Finding, ...]:
    return tuple(one for one in judged(text).findings if one.severity is not Severity.NOTE)


@pytest.mark.parametrize(
    ("text", "proved", "usual"),
    [
        (
            "nvcc fatal   : Unsupported gpu architecture 'compute_86'",
            "is older than compute_86",
            "stands first in PATH",
        ),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_30'", "does not know compute_30", "so new"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_101'", "does not know compute_101", "so new"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_'", "does not know", "a slip"),
        ("ImportError: /lib64/libc.so.6: version `GLIBC_2.32' not found", "newer C library", "on a newer system"),
        ("ImportError: libstdc++.so.6: version `GLIBCXX_3.4.29' not found", "newer C++ library", "LD_LIBRARY_PATH"),
        ("/usr/bin/ld: cannot find -lcuda: No such file or directory", "the driver's library", "libcuda.so.1"),
        (
            "ValueError: Unrecognized configuration class <class 'T5Config'> for this kind of AutoModel",
            "does not load models of this kind",
            "of another kind",
        ),
        ("ValueError: Unrecognized model in ./out. Should have a `model_type` key", "config.json", "an adapter"),
        ("Error named symbol not found at line 449 in file ops.cu", "has no code for this GPU", "older than the GPU"),
        ("OSError: CUDA_HOME environment variable is not set.", "is not found", "torch is a build without CUDA"),
    ],
)
def test_the_line_proves_one_thing_and_the_rest_is_usual(text: str, proved: str, usual: str) -> None:
    (found,) = findings(text)
    certain, likely = found.message.split(" Usually ")
    assert proved in certain
    assert usual in likely
    assert found.severity is Severity.ERROR


def test_torchs_mates_are_installed_beside_torch_so_that_it_stays() -> None:
    for name in ("torchvision", "torchaudio", "xformers"):
        (found,) = findings(f"ModuleNotFoundError: No module named '{name}'")
        assert found.remedy.commands == (f"uv pip install --torch-backend=auto torch {name}",)


def test_a_compiler_that_answers_in_another_language_is_there() -> None:
    asked = "UserWarning: Error checking compiler version for cl: "
    assert not any("is not found" in one.message for one in findings(f"{asked}'utf-8' codec can't decode byte 0xd3"))
    assert any(
        "is not found" in one.message for one in findings(f"{asked}[WinError 2] The system cannot find the file")
    )


def test_a_kernel_with_too_many_threads_asks_for_no_shared_memory() -> None:
    form = "triton.runtime.errors.OutOfResources: out of resource: {}, Required: 262144, Hardware limit: 101376."
    said = "what a block may have (shared memory as a rule)"
    assert any(said in one.message for one in findings(form.format("shared memory")))
    assert not any(said in one.message for one in findings(form.format("threads")))


def test_a_call_of_the_compiler_is_no_second_error() -> None:
    call = "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpab/main.c', '-O3', '-lcuda']' returned 1."
    assert [one.subject for one in errors(call)] == ["the C compiler"]
    assert [one.subject for one in errors("/usr/bin/ld: cannot find -lcuda", call)] == ["triton"]
    lacking = "/tmp/tmpab/main.c:2:10: fatal error: cuda.h: No such file or directory"
    assert [one.subject for one in errors(lacking, call)] == ["triton"]
