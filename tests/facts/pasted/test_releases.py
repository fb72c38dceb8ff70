"""Releases that people name: what a text states is known, and what it tries, asks for or compares is not."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Unavailable
from envdoctor.facts.pasted import read
from tests.facts.pasted.reading import driver, gpus, interpreter, packages, torch, versions

ERROR = "\nRuntimeError: something failed"


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("We run peft version 0.13.2 from PyPI", "peft", "0.13.2"),
        ("Transformers version - 4.41.2", "transformers", "4.41.2"),
        ("Tokenizer version - 0.19.0", "tokenizers", "0.19.0"),
        ("with the latest pyarrow 2.0.0 installed it stops", "pyarrow", "2.0.0"),
        ("with pyarrow 2.0.0 installed it stops, and only pip install pyarrow==1.0.1 helps", "pyarrow", "2.0.0"),
        ("our setup: python3.10 torch2.1.0 transformers4.37.2", "transformers", "4.37.2"),
        ("The version of diffusers is 0.30.1 and nothing else", "diffusers", "0.30.1"),
        ("torch (2.4.1), tokenizers (0.20.1) on one machine", "tokenizers", "0.20.1"),
        ("version 8.0.200 of ultralytics is here", "ultralytics", "8.0.200"),
        ("transformers 版本为 4.40.1", "transformers", "4.40.1"),
        ("[OK] tiktoken 0.11.0", "tiktoken", "0.11.0"),
        ("[FAIL] numpy 2.3.1, please install a version matching <2.1", "numpy", "2.3.1"),
        ("trl is asked for, but found tokenizers==0.23.0.", "tokenizers", "0.23.0"),
        ("torch = 2.4.1, transformers = 4.46.0, python = 3.10", "transformers", "4.46.0"),
        ("4.40.0和4.41.0都试过，trl=0.11.1", "trl", "0.11.1"),
        ("tinycudann 1.6 and the newest code of it", "tinycudann", "1.6"),
        ("print(safetensors.__version__)  # 0.4.3", "safetensors", "0.4.3"),
        ("我把 langchain 换成 0.0.22 之后可以安装, 但是又报错:", "langchain", "0.0.22"),
        ("I downgraded trl from 0.12.1 to 0.9.6, but now it stops here", "trl", "0.9.6"),
        ("I downgraded trl to 0.9.6 and now it runs out of memory", "trl", "0.9.6"),
        ("My versions are below: trl 0.9.6", "trl", "0.9.6"),
    ],
)
def test_a_release_that_is_stated(text: str, name: str, version: str) -> None:
    assert versions(text + ERROR)[name] == version


@pytest.mark.parametrize(
    "text",
    [
        "please upgrade to transformers 4.50.1",
        "我是不是应该把 transformers 换成 4.40.0，还是别的",
        "I downgraded transformers to 4.40.0 and it works",
        "I downgraded transformers to 4.40.0 and now everything runs without problems",
        "这个项目只认 transformers 4.40.0 以下",
        "transformers 4.40.0 之前的版本才有",
        "transformers 4.40.0 or lower",
        "at most transformers 4.40.0",
        "it takes anything below transformers 4.40.0",
        "it needs transformers 4.45.0 or later",
        "transformers 4.40.0 works",
        "pip install -U a-package another-package and-some-more transformers==4.36.2 for that",
        "I tried with transformers 4.40.0 and 4.41.0, the same",
        "transformers 4.40.0和4.41.0都不行",
        "After the upgrade from transformers 4.36.2 to transformers 4.37.0",
        "I have installed transformers 4.40.0 here.\n"
        "It was fine with transformers 4.39.0.\nHow do I revert to transformers 4.39.0?",
        "I installed transformers 4.40.0. Then I installed transformers 4.41.0.",
        "see https://example.org/transformers-4.40.0/index.html",
        "datasets 2.3 GB in size",
        "[FAIL] transformers 0.0, please install a version matching >=4",
    ],
)
def test_a_release_that_may_not_run(text: str) -> None:
    assert isinstance(read(text + ERROR).packages, Unavailable)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("my torch is 2.3.1+cu121", "2.3.1+cu121"),
        ("It fails with torch 2.5.1. With torch 2.4.1 it works.", "2.5.1"),
        ("on my torch 2.5.1 (cu124) it stops", "2.5.1+cu124"),
        ("vllm 0.6.1 requires torch==2.4.0, but you have torch 2.5.1 which is incompatible.", "2.5.1"),
        ("I have torch 2.3.1\npip install torch-scatter -f https://data.example.org/whl/torch-2.3.0+cpu.html", "2.3.1"),
    ],
)
def test_a_torch_that_is_stated(text: str, version: str) -> None:
    assert torch(text + ERROR).version == version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("# Compiling fails on Python 3.10\nIt fails on Python 3.10.13.", "3.10.13"),
        ("Your Python version is 3.12.10", "3.12.10"),
        ("1. conda create -n env python=3.12", "3.12"),
        ("$ uv venv --python 3.11 .venv", "3.11"),
        ("it wants python 3.9 or later, I'm on python 3.8.9", "3.8.9"),
        ("Python-3.10.11 is what the banner says", "3.10.11"),
    ],
)
def test_a_python_that_is_stated(text: str, version: str) -> None:
    assert interpreter(text + ERROR).version == version


@pytest.mark.parametrize(
    "text",
    ["I fixed it by conda create -n env python=3.10", "use Python 3.11 instead", "Python 3.9 and 3.10 are supported"],
)
def test_a_python_that_may_not_run(text: str) -> None:
    assert isinstance(read(text + ERROR).interpreter, Unavailable)


def test_rows_that_a_program_pads() -> None:
    text = """\
------------  ------------------------------------------------------
sys.platform            linux
Python                  3.8.2 | packaged by conda-forge | (default)
PyTorch                 1.4.0+cu92 @/opt/env/lib/python3.8/site-packages/torch
CUDA available          True
GPU 0,1                 Tesla V100-SXM2-16GB
torchvision             0.5.0+cu92 @/opt/env/lib/python3.8/site-packages/torchvision
------------  ------------------------------------------------------
"""
    assert (torch(text).version, interpreter(text).version) == ("1.4.0+cu92", "3.8.2")
    assert versions(text) == {"torch": "1.4.0+cu92", "torchvision": "0.5.0+cu92"}
    assert [gpu.name for gpu in gpus(text).devices] == ["Tesla V100-SXM2-16GB"] * 2


def test_a_list_of_packages_is_no_such_table() -> None:
    assert versions("torch            2.4.1\nnumpy            1.26.4\n") == {"torch": "2.4.1", "numpy": "1.26.4"}


def test_rows_of_markdown() -> None:
    text = "| Item | Required | Installed |\n|:--|:-:|--:|\n"
    text += "| **PyTorch** | 2.6.0 | 2.4.1+cu121 |\n| Driver | 550 | 535.104 |\n"
    assert (torch(text).version, driver(text).kernel_module) == ("2.4.1+cu121", "535.104")


@pytest.mark.parametrize(
    "text",
    [
        "| Library | Minimum |\n|---|---|\n| torch | 2.4.1 |\n",
        "| Model | torch 2.3.0 | torch 2.4.0 |\n|---|---|---|\n| bert | 12.3 | 14.1 |\n",
    ],
)
def test_rows_that_tell_of_no_installation(text: str) -> None:
    assert isinstance(read(text + ERROR).torch, Unavailable)


def test_a_row_of_conda_in_a_sentence() -> None:
    text = "I have pytorch     2.3.1      cpu_generic_py310ha4c588e_1    conda-forge installed" + ERROR
    assert torch(text).cuda == ""
    assert packages(text).conda == {"pytorch": "2.3.1 cpu_generic_py310ha4c588e_1"}


@pytest.mark.parametrize(
    "said",
    [
        "ERROR: {} is not a supported wheel on this platform.",
        "error: The wheel {} is not compatible with the current platform",
    ],
)
def test_a_wheel_that_was_refused_is_not_installed(said: str) -> None:
    name = "torch-2.1.0+cu121-cp38-cp38-linux_aarch64.whl"
    facts = read(f"python -m pip install https://example.org/whl/{name}\n{said.format(name)}\n")
    assert all(isinstance(section, Unavailable) for section in (facts.interpreter, facts.torch, facts.packages))


def test_a_wheel_that_was_taken_tells_of_its_python() -> None:
    assert interpreter("pip install torch-2.1.0+cu121-cp38-cp38-linux_x86_64.whl" + ERROR).version == "3.8"


def test_several_releases_of_which_none_is_known_to_run() -> None:
    found = read("I have installed PyTorch 0.4.1 here.\nIt was fine with PyTorch 0.4.0 before." + ERROR).torch
    assert isinstance(found, Unavailable)
    assert found.reason == "the text names 0.4.0 and 0.4.1"


def test_the_torch_that_a_model_was_trained_with_is_not_the_one_that_is_here() -> None:
    line = "Model was trained with torch 1.10.0+cu102, yours is 2.5.1+cu124. Bad things might happen unless you revert"
    assert torch(line).version == "2.5.1+cu124"


def test_a_cuda_release_is_none_of_torch() -> None:
    assert isinstance(read("used to compile\nPyTorch (12.1). Please make sure" + ERROR).packages, Unavailable)
