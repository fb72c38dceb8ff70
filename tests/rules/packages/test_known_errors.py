"""Errors that say by their words alone what is wrong: each with its kind, and with commands for its system."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.knowledge.errors import ERRORS
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.causes import KINDS
from envdoctor.rules.diagnose import Diagnosis, diagnose
from envdoctor.rules.packages.known_errors import known_errors
from tests.rules.judging import skipped

RULES = load_rules()
CAUSES = [
    (
        "hint: This error likely indicates that `causal-conv1d@1.5.0` depends on `torch`, but doesn't "
        "declare it as a build dependency",
        "package-conflict",
        "causal-conv1d build isolation",
    ),
    (
        "ERROR: Cannot install a==1 and b==2 because these package versions have conflicting dependencies.",
        "package-conflict",
        "a==1 and b==2",
    ),
    (
        "ERROR: ResolutionImpossible: for help visit the documentation",
        "package-conflict",
        "requirements",
    ),
    (
        "Because foo==1.0 has no wheels with a matching Python ABI tag (e.g., `cp314`), foo==1.0 cannot be used.",
        "python-unsupported",
        "python",
    ),
    (
        "ERROR: torch-2.3.0-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.",
        "python-unsupported",
        "torch",
    ),
    (
        "ERROR: No matching distribution found for triton==2.1.0",
        "triton-mismatch",
        "triton",
    ),
    (
        "ERROR: No matching distribution found for xformers==0.0.20",
        "extension-binary-missing",
        "xformers",
    ),
    (
        "ERROR: Failed building wheel for tokenizers",
        "python-unsupported",
        "tokenizers",
    ),
    (
        "ERROR: Failed building wheel for mamba-ssm",
        "extension-binary-missing",
        "mamba-ssm",
    ),
    (
        "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
        "nvcc-mismatch",
        "nvcc",
    ),
    (
        "nvcc fatal   : Unsupported gpu architecture 'compute_120'",
        "nvcc-mismatch",
        "nvcc",
    ),
    (
        "#error -- unsupported GNU version! gcc versions later than 12 are not supported!",
        "nvcc-mismatch",
        "nvcc",
    ),
    (
        "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
        "triton-mismatch",
        "torch.compile",
    ),
    (
        "RuntimeError: Windows not yet supported for torch.compile",
        "triton-mismatch",
        "triton",
    ),
    (
        "RuntimeError: HIP error: invalid device function",
        "no-kernels-for-gpu",
        "torch for ROCm",
    ),
    (
        "nvrtc: error: invalid value for --gpu-architecture (-arch)",
        "no-kernels-for-gpu",
        "torch",
    ),
    (
        "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
        "driver-too-old",
        "driver",
    ),
    (
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0.",
        "config-mismatch",
        "precision",
    ),
    (
        "RuntimeError: The server socket has failed to listen: errno: 98 - Address already in use",
        "config-mismatch",
        "port",
    ),
    (
        "RuntimeError: use_libuv was requested but PyTorch was built without libuv support",
        "config-mismatch",
        "USE_LIBUV",
    ),
    (
        "AttributeError: partially initialized module 'torchvision' has no attribute 'extension'",
        "torch-pair-mismatch",
        "torchvision",
    ),
    (
        'OSError: [WinError 1114] initialization routine failed. Error loading "C:\\e\\torch\\lib\\c10.dll"',
        "known-broken-version",
        "torch",
    ),
    (
        "ImportError: libmkl.so: undefined symbol: iJIT_NotifyEvent",
        "package-conflict",
        "mkl",
    ),
    (
        "RuntimeError: GET was unable to find an engine to execute this computation",
        "cudnn-mismatch",
        "cuDNN",
    ),
    (
        "Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!",
        "cudnn-mismatch",
        "cuDNN",
    ),
    (
        "ModuleNotFoundError: No module named 'selective_scan_cuda'",
        "extension-binary-missing",
        "selective-scan-cuda",
    ),
    (
        "NameError: name '_C' is not defined",
        "extension-binary-missing",
        "an extension",
    ),
    (
        "Error named symbol not found at line 529 in file /src/csrc/ops.cu",
        "extension-binary-missing",
        "bitsandbytes",
    ),
    (
        "ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found",
        "extension-abi-mismatch",
        "the system's C or C++ library",
    ),
    (
        "ModuleNotFoundError: No module named 'triton.ops'",
        "package-conflict",
        "bitsandbytes",
    ),
    (
        "ModuleNotFoundError: No module named 'numpy._core'",
        "numpy-abi",
        "numpy",
    ),
    (
        "ValueError: Your currently installed version of Keras is Keras 3, but this is not yet supported in "
        "Transformers.",
        "package-conflict",
        "keras",
    ),
    (
        "GPU available: True (cuda), used: False",
        "config-mismatch",
        "accelerator",
    ),
    (
        "ValueError: Model architectures ['Qwen9ForCausalLM'] are not supported for now.",
        "package-conflict",
        "the library that loads the model",
    ),
]


def judged(text: str) -> Diagnosis:
    return diagnose(read(text), no_target(), RULES)


@pytest.mark.parametrize(("line", "kind", "subject"), CAUSES, ids=[subject for _, _, subject in CAUSES])
def test_the_line_alone_names_the_cause(line: str, kind: str, subject: str) -> None:
    found = judged(line)
    assert found.crashed == ()
    assert found.root_cause is not None
    assert (found.root_cause.kind, found.root_cause.subject) == (kind, subject)
    assert found.root_cause.remedy.text


def test_each_row_has_what_it_needs() -> None:
    rows = list(ERRORS)
    assert len(rows) > 50
    for row in rows:
        assert row.kind in KINDS, row
        assert row.pattern.search("") is None, row
        assert row.source.startswith("https://"), row
        assert not row.meaning.endswith("."), row
        assert row.remedy.endswith("."), row
        groups = set(row.pattern._compiled.groupindex) | {"cuda", "name"}
        for text in (row.subject, row.meaning, row.remedy, *row.commands, *row.windows):
            assert set(_holes(text)) <= groups, row


def _holes(text: str) -> list[str]:
    import re

    return re.findall(r"\{(\w+)\}", text)


def test_windows_gets_windows_commands() -> None:
    line = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable."
    linux, windows = judged(line).root_cause, judged(f"C:\\env\\Lib\\site-packages\\torch\\x.py\n{line}").root_cause
    assert linux is not None
    assert windows is not None
    assert linux.remedy.commands[0].startswith("apt-get")
    assert windows.remedy.commands[0].startswith("winget")


def test_a_name_from_outside_becomes_no_command() -> None:
    found = judged("hint: This error likely indicates that x;reboot@1.0 depends on `torch`, but doesn't declare it")
    commands = [command for one in found.findings for command in one.remedy.commands]
    assert not any("reboot" in command for command in commands)


def test_without_error_lines_nothing_is_judged() -> None:
    from envdoctor.facts.model import Facts

    assert skipped(known_errors, Facts())
