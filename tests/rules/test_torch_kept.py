"""A remedy does not replace the torch that is there, unless that is what it is for."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.rules.torch_kept import for_this_torch, keep_torch
from tests.rules.told import root

WINDOWS = "OS: Microsoft Windows 11\nPyTorch version: 2.5.1+cu124\nCUDA used to build PyTorch: 12.4\n"
OLD = "OS: Ubuntu 22.04\nPyTorch version: 2.1.2+cu121\nCUDA used to build PyTorch: 12.1\n"
NEW = "OS: Ubuntu 22.04\nPyTorch version: 2.9.1+cu128\nCUDA used to build PyTorch: 12.8\n"
CPU = "OS: Microsoft Windows 11\nPyTorch version: 2.5.1+cpu\nCUDA used to build PyTorch: None\n"
UPGRADE = "python -m pip install --upgrade bitsandbytes"


@pytest.mark.parametrize(("report", "torch"), [(WINDOWS, "2.5.1"), (OLD, "2.1.2")])
def test_what_asks_for_torch_is_installed_beside_the_one_that_is_there(report: str, torch: str) -> None:
    assert keep_torch(UPGRADE, read(report)) == f"{UPGRADE} 'torch=={torch}'"
    assert keep_torch("python -m pip install 'peft>=0.7'", read(report)).endswith(f" 'torch=={torch}'")


@pytest.mark.parametrize(
    ("report", "command"),
    [
        (NEW, UPGRADE),
        (CPU, UPGRADE),
        ("OS: Microsoft Windows 11\n", UPGRADE),
        (OLD, "python -m pip install --upgrade torch bitsandbytes"),
        (OLD, "python -m pip install --upgrade --no-deps bitsandbytes"),
        (OLD, "python -m pip install --upgrade transformers"),
        (OLD, "python -m pip install -r requirements.txt"),
        (OLD, "python -m pip uninstall -y bitsandbytes"),
        (OLD, "export BNB_CUDA_VERSION=121"),
    ],
)
def test_other_commands_stay_as_they_are(report: str, command: str) -> None:
    assert keep_torch(command, read(report)) == command


def test_under_zluda_the_program_brings_its_torch() -> None:
    line = "AttributeError: module 'torch.compiler' has no attribute 'is_compiling'"
    found = root("A Radeon card, the web UI with ZLUDA on Windows.", line)
    assert found.remedy.commands == ()
    assert "the program's own script" in found.remedy.text
    assert root("A card of ours on Linux.", line).remedy.commands


@pytest.mark.parametrize(
    ("report", "asked", "bounded"),
    [
        (OLD, "--upgrade transformers", "--upgrade 'transformers<4.56'"),
        (OLD, "'transformers>=4.43' accelerate", "'transformers>=4.43,<4.56' accelerate"),
        (OLD, "'transformers>=4.57'", "'transformers>=4.57'"),
        (OLD, "'transformers<4.50'", "'transformers<4.50'"),
        (NEW, "--upgrade transformers", "--upgrade transformers"),
        (OLD, "--upgrade torch transformers", "--upgrade torch transformers"),
    ],
)
def test_transformers_goes_no_further_than_this_torch(report: str, asked: str, bounded: str) -> None:
    assert for_this_torch(f"python -m pip install {asked}", read(report)) == f"python -m pip install {bounded}"
