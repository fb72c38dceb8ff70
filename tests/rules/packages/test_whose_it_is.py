"""A name that several libraries have, a mode, a system, a notice: only what the text shows is said as certain."""

from __future__ import annotations

import pytest

from envdoctor.rules.finding import Finding, Severity
from tests.rules.packages.test_known_errors import judged

UNKNOWN = "TypeError: {}.__init__() got an unexpected keyword argument '{}'"
NOTICE = (
    "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed. "
    "This behaviour is the source of the following dependency conflicts.\n"
    "{} requires {}, but you have {} which is incompatible."
)
LACKED = (
    "PackagesNotFoundError: The following packages are not available from current channels:\n\n{}\n\n"
    "Current channels:\n\n{}"
)


def findings(text: str) -> tuple[Finding, ...]:
    return tuple(one for one in judged(text).findings if one.severity is not Severity.NOTE)


@pytest.mark.parametrize(
    ("callee", "what", "others"),
    [
        ("Trainer", "data_dir", ("transformers", "pytorch-lightning")),
        ("DataLoader", "follow_batch", ("torch", "torch-geometric")),
        ("LLM", "kv_cache_config", ("vllm", "tensorrt-llm")),
        ("PPOConfig", "env_runners", ("trl", "ray")),
    ],
)
def test_a_shared_name_is_given_to_no_library(callee: str, what: str, others: tuple[str, ...]) -> None:
    found = findings(UNKNOWN.format(callee, what))[0]
    certain, _, likely = found.message.partition("Usually")
    assert found.subject == callee
    assert not any(other in certain for other in others)
    assert all(other in likely for other in others)


@pytest.mark.parametrize(
    ("shown", "callee", "owner"),
    [
        ("from transformers import Trainer\n", "Trainer", "transformers"),
        ('  File "/env/lib/python3.10/site-packages/vllm/entrypoints/llm.py", line 3, in run\n', "LLM", "vllm"),
        ("import torch\n", "DataLoader", "torch"),
        ("", "LoraConfig", "peft"),
    ],
)
def test_a_library_that_the_text_shows_is_named(shown: str, callee: str, owner: str) -> None:
    assert findings(shown + UNKNOWN.format(callee, "no_such_thing"))[0].subject == owner


def test_the_library_that_is_imported_is_not_taken_for_another() -> None:
    found = findings("from lightning.pytorch import Trainer\n" + UNKNOWN.format("Trainer", "data_dir"))[0]
    assert "pytorch-lightning" in found.message
    assert "transformers" not in found.message


def test_an_everyday_name_is_hedged_even_where_a_row_knows_the_argument() -> None:
    (found,) = findings(UNKNOWN.format("PPOConfig", "mini_batch_size"))
    assert found.severity is Severity.WARNING
    assert found.message.startswith("Most often trl is meant")


def test_no_mode_is_told_that_the_text_does_not_show() -> None:
    text = "PyTorch 2.3.1+cu121 with CUDA 1201 (you have 2.3.1+cpu)\n"
    found = findings(
        f"python predict.py\nWARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. Built for: {text}"
    )
    assert found[0].kind == "torch-cpu-only"
    assert not any("training runs" in one.message for one in found)


@pytest.mark.parametrize(
    "text",
    [
        "On an M2 Mac some operators are missing, as aten::unfold_backward; with PYTORCH_ENABLE_MPS_FALLBACK=1 I get "
        "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)",
        "aten::_fft_r2c is not supported on my MPS device, is there a way around?",
        "NotImplementedError on Apple Silicon: aten::col2im is not implemented yet",
    ],
)
def test_what_mps_lacks_comes_before_two_devices(text: str) -> None:
    found = findings(text)
    assert found[0].subject == "MPS"
    assert not any("device_map" in f"{one.message} {one.remedy.text}" for one in found)


def test_two_devices_on_a_mac_are_told_as_such() -> None:
    said = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, {} and cpu!"
    (mac,), (cuda,) = (findings(said.format(device)) for device in ("mps:0", "cuda:0"))
    assert "Apple" in mac.message
    assert "Apple" not in cuda.message


@pytest.mark.parametrize("part", ["CrossAttention", "SpatialAttention", "SelfAttention"])
def test_an_attention_of_anyones_is_not_transformers(part: str) -> None:
    (found,) = findings(f"TypeError: {part}.forward() got an unexpected keyword argument 'scale'")
    assert found.subject == f"{part}.forward"
    assert "transformers" not in f"{found.message} {found.remedy.text}"


def test_what_another_exporter_lacks_is_not_apples() -> None:
    text = "I trained this on my Mac with MPS.\n"
    text += "UnsupportedOperatorError: Exporting the operator aten::fft to ONNX is not supported"
    assert not any(one.subject == "MPS" for one in findings(text))


@pytest.mark.parametrize(
    ("text", "machine"),
    [
        ("OS: Debian 12 aarch64\nResolvePackageNotFound:\n  - cudatoolkit=11.3\n  - pytorch=1.11.0\n", "aarch64"),
        (LACKED.format("  - pytorch==1.7.1", "  - https://conda.anaconda.org/pytorch/linux-aarch64"), "aarch64"),
        (LACKED.format("  - cudatoolkit=11.0", "  - https://conda.anaconda.org/x/linux-ppc64le"), "ppc64le"),
    ],
)
def test_a_system_without_such_builds_is_named(text: str, machine: str) -> None:
    found = findings(text)[0]
    assert f"Linux on {machine}" in found.message
    assert not any("--append channels" in command for command in found.remedy.commands)


def test_on_x86_the_channel_is_named() -> None:
    text = LACKED.format("  - cudatoolkit=11.0", "  - https://conda.anaconda.org/x/linux-64")
    assert "conda-forge" in findings(text)[0].message


@pytest.mark.parametrize(
    ("one", "wanted", "there"),
    [
        ("gcsfs 2025.1.0", "fsspec==2025.1.0", "fsspec 2024.12.0"),
        ("numba 0.58.0", "numpy<1.26,>=1.21", "numpy 1.26.4"),
        ("google-colab 1.0.0", "requests==2.31.0", "requests 2.32.3"),
    ],
)
def test_pips_notice_is_no_failure(one: str, wanted: str, there: str) -> None:
    (found,) = (one for one in findings(NOTICE.format(one, wanted, there)) if "reported" in one.rule)
    assert found.severity is Severity.WARNING
    assert "pip installed what it was asked for" in found.message
    assert there in found.message
    assert not any("install" in command for command in found.remedy.commands)


def test_a_pair_of_torch_is_one_also_below_pips_notice() -> None:
    found = findings(NOTICE.format("torchvision 0.16.0", "torch==2.1.0", "torch 2.2.0"))[0]
    assert (found.kind, found.severity) == ("torch-pair-mismatch", Severity.ERROR)


def test_what_is_not_there_at_all_is_said_to_be_not_installed() -> None:
    text = NOTICE.format("numba 0.58.0", "numpy<1.26,>=1.21", "x").replace("but you have x which is incompatible", "{}")
    found = findings(text.format("which is not installed"))[0]
    assert (found.severity, found.actual) == (Severity.WARNING, "not installed")  # pip's note after an installation
    assert "finds" not in found.message


@pytest.mark.parametrize("label", ["cu102", "cu111", "cpu"])
def test_the_number_and_the_label_that_are_asked_for_are_kept(label: str) -> None:
    line = f"ERROR: Could not find a version that satisfies the requirement torch==1.9.0+{label} (from versions: 1.9.0)"
    (found,) = findings(line)
    (command,) = found.remedy.commands
    assert f"torch==1.9.0+{label}" in command
    assert command.endswith(f"/whl/{label}")


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.", "ended in a bus error"),
        ("OSError: [Errno 28] No space left on device: '/dev/shm/torch_1'", "gave out"),
        ("unable to open shared memory object </torch_1> in read-write mode: Permission denied", "no lack of room"),
    ],
)
def test_a_bus_error_does_not_prove_that_shared_memory_is_full(line: str, part: str) -> None:
    assert part in findings(line)[0].message.partition("Usually")[0]
