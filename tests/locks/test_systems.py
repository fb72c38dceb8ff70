"""Stacks and targets on Windows, in WSL and on a Jetson: what is compared, and what is not asked for."""

from __future__ import annotations

from typing import Any

import pytest

from envdoctor import doctor
from envdoctor.facts.model import Facts
from envdoctor.locks import library
from envdoctor.locks.platforms import interpreter
from envdoctor.locks.systems import releases_for_windows, without_unusable
from envdoctor.rules.checkup import CheckOptions, Checkup
from tests.rules.rented import rented

LINUX_ONLY = ("triton", "nvidia-cudnn-cu13", "nvidia-nccl-cu13", "liger-kernel")
WINDOWS: dict[str, Any] = {
    "system": "win32",
    "driver": "596.21",
    "host": {"system": "Windows", "machine": "AMD64", "kernel": "11", "shm": None, "shm_free": None},
    "kernel": {"devices": (), "open_module": None},
    "without": LINUX_ONLY,
}


def windows(**changes: Any) -> Checkup:
    facts = rented("NVIDIA GeForce RTX 4090", **{**WINDOWS, **changes})
    return doctor.judge(facts, CheckOptions(recorded=True))


def test_the_releases_of_a_linux_lock_are_compared_on_windows() -> None:
    checkup = windows(torch="2.14.1+cu132", line="13.2", extra={"transformers": "5.17.0", "huggingface-hub": "1.31.0"})
    choice = checkup.target.choice
    assert choice is not None
    assert (choice.stack, choice.only_compared, choice.digest) == ("cu132", True, None)
    assert "compared only" in choice.reason
    older = next(each for each in checkup.diagnosis.findings if each.rule == "packages/pinned-versions")
    assert {row.subject: row.expected for row in older.rows}["torch"] == "2.15.0+cu132"
    (command,) = older.remedy.commands  # as cmd.exe reads it, and from the index that has such builds
    assert command.startswith("uv pip install --torch-backend=cu132")
    assert "'" not in command


def test_no_command_is_named_that_cannot_work_there() -> None:
    checkup = windows(torch="2.14.1+cu132", line="13.2")
    commands = [command for each in checkup.diagnosis.findings for command in each.remedy.commands]
    assert commands
    assert not [command for command in commands if command.startswith(("envdoctor fix", "export"))]


def test_what_exists_on_linux_only_is_not_missed() -> None:
    stack = library.load_stacks(library.load_targets()["rtx4090"])["cu132"]
    names = {pin.name for pin in releases_for_windows(stack, interpreter("3.12", "AMD64"))}
    assert {"torch", "torchvision", "transformers"} < names
    assert not {name for name in names if name.startswith(("nvidia-", "cuda-", "triton"))}
    assert releases_for_windows(stack, interpreter("3.12", "arm64")) == ()
    assert releases_for_windows(stack, interpreter("3.10", "AMD64")) == ()


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        (rented("NVIDIA GeForce RTX 4090"), True),
        (rented("NVIDIA GB10", machine="aarch64"), True),
        (rented("NVIDIA GeForce RTX 4090", **WINDOWS), False),
        (rented("NVIDIA GeForce RTX 4090", host={"container": "wsl2"}), False),
        (rented("Orin", machine="aarch64"), False),
    ],
)
def test_expandable_segments_are_asked_for_where_they_exist(facts: Facts, wanted: bool) -> None:
    target = without_unusable(library.load_targets()["rtx4090"], facts)
    assert ("PYTORCH_ALLOC_CONF" in target.variables) is wanted
