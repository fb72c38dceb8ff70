"""Usual causes that are met often and stand first: a Hub out of reach, one index for all, conda's CPU build."""

from __future__ import annotations

import pytest

from tests.rules.told import errors, root, whole

NOT_LOADED = "OSError: Can't load {} for '{}'. If you were trying to load it from 'https://huggingface.co/models', make"


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("tokenizer", "google-bert/bert-base-cased"),
        ("the model", "gpt2"),
        ("feature extractor", "facebook/wav2vec2-base"),
    ],
)
def test_a_name_of_the_hub_that_is_not_reached(what: str, name: str) -> None:
    found = root(NOT_LOADED.format(what, name))
    assert "Usually the name is right and the machine does not reach the Hub" in found.message
    assert any("HF_ENDPOINT" in one for one in found.remedy.commands)


@pytest.mark.parametrize("name", ["./out/checkpoint-500", "/data/models/llama", "output/final"])
def test_a_path_is_a_matter_of_the_folder(name: str) -> None:
    found = root(NOT_LOADED.format("tokenizer", name))
    assert "Usually a local folder's path is wrong" in found.message


REGISTRY = (
    "error: Distribution `{} @ registry+https://download.pytorch.org/whl/{}` can't be installed because it doesn't"
)
PYTHONS = "only has wheels with the following Python implementation tags: `cp312`, `cp313`"
PLATFORMS = "only has wheels for the following platform: `manylinux_2_28_x86_64`"
NO_WHEEL = " have a source distribution or wheel for the current platform"


@pytest.mark.parametrize(
    ("package", "label", "hint"),
    [
        ("jinja2==3.1.4", "cu124", ""),
        ("numpy==2.1.2", "cpu", f"hint: You're using CPython 3.9 (`cp39`), but `numpy` (v2.1.2) {PYTHONS}"),
        ("pillow==11.0.0", "cu128", f"hint: You're on Windows (`win_amd64`), but `pillow` (v11.0.0) {PLATFORMS}"),
    ],
)
def test_an_index_that_is_asked_for_every_package(package: str, label: str, hint: str) -> None:
    lines = (REGISTRY.format(package, label) + NO_WHEEL, hint)
    found = root(*lines)
    assert "PyTorch's own index" in found.message
    assert all(word in found.remedy.text for word in ("explicit = true", "tool.uv.sources", "--index-strategy"))
    assert not any("--python" in command for one in errors(*lines) for command in one.remedy.commands)


@pytest.mark.parametrize("package", ["torch==2.6.0", "torchvision==0.21.0+cu124", "nvidia-nccl-cu12==2.21.5"])
def test_of_torch_itself_the_index_is_right(package: str) -> None:
    found = root(REGISTRY.format(package, "cu124") + NO_WHEEL)
    assert "every package" not in found.message


@pytest.mark.parametrize(
    "text",
    [
        "I made it with conda env create -f environment.yml and torch.cuda.is_available() is False.",
        "After conda install pytorch torchvision gdal the call torch.cuda.is_available() returns False",
        "We use mamba with everything from conda-forge; torch.cuda.is_available() gives False there.",
    ],
)
def test_an_environment_of_conda_without_cuda(text: str) -> None:
    found = root(f"# No GPU\n{text}")
    assert "Usually conda took a build of pytorch for the CPU" in found.message
    assert "conda install -c conda-forge pytorch-gpu" in found.remedy.commands


@pytest.mark.parametrize(
    "text",
    [
        "conda env create went well. nvidia-smi: command not found, torch.cuda.is_available() is False",
        "conda install pytorch on a Radeon RX 7900: torch.cuda.is_available() is False",
        "I use pip only: torch.cuda.is_available() is False",
    ],
)
def test_where_something_else_is_told_conda_is_not_blamed(text: str) -> None:
    assert not any("conda took" in one.message for one in errors(f"# No GPU\n{text}"))


@pytest.mark.parametrize("library", ["libMIOpen.so.1", "librocblas.so.5", "libhipblaslt.so.1"])
def test_rocm_out_of_pips_packages(library: str) -> None:
    found = root(f"ImportError: {library}: cannot open shared object file: No such file or directory")
    assert "site-packages" in found.message
    assert "LD_LIBRARY_PATH" in found.remedy.text
    assert "_rocm_sdk_core/lib" in found.remedy.text


@pytest.mark.parametrize("build", ["build", "built"])
def test_what_other_releases_do_with_libuv(build: str) -> None:
    found = root(f"RuntimeError: use_libuv was requested but PyTorch was {build} without libuv support")
    assert "another release of torch" not in whole(found)
    assert "before 2.4 do not ask for it" in whole(found)
