"""What is prescribed can be installed today: beside the newest trl, peft and accelerate, or, for who stays with an old
release, by itself."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from envdoctor.knowledge.broken import RELEASES
from envdoctor.knowledge.errors import ERRORS
from envdoctor.knowledge.names import Name
from envdoctor.knowledge.slowness import SITUATIONS
from envdoctor.knowledge.table import bundled_table

pytestmark = pytest.mark.install

NEWEST = ("trl", "peft", "accelerate")
NOT_TODAY = frozenset({"python"})  # no distribution


def _named(requirement: str) -> str:
    return re.split(r"[<>=!~ \[]", requirement, maxsplit=1)[0]


def _unique(requirements: list[str]) -> list[str]:
    return sorted({one for one in requirements if _named(one) not in NOT_TODAY})


INSTEAD = _unique([row.instead for row in RELEASES])
NEAR = _unique(
    [row.near for row in RELEASES if row.near and re.fullmatch(r"[\w.-]+(?:(?:[<>]=?|[=!~]=)[\w.*]+,?)+", row.near)]
)
ROWS = [bundled_table("names").parse(block, Name) for block in bundled_table("names").blocks]
PINS = _unique([row.pin for row in ROWS if row.pin])
CURES = _unique([line for row in ROWS for line in row.cured_in])


FOR_A_MAC = frozenset({"jax-metal", "tensorflow-metal", "mlx", "mlx-metal", "mlx-lm", "mlx-vlm"})
WITH_VALUE = ("-r", "--requirement", "-c", "--constraint", "-e", "--editable", "-f", "--find-links")
REQUIREMENT = re.compile(r"[A-Za-z][\w.-]*(\[[\w,-]+\])?([<>=!~]=?.*)?")
ELSEWHERE = ("--index-url", "--extra-index-url", "-i", "--find-links", "-f")


FOUND = re.compile(r"Failed to build `[\w.-]+==")
"""A release that is there as sources alone, whose build asks for torch before it tells what it needs."""


def _installed(command: str) -> tuple[str, ...]:
    """What `pip install` in a command asks the registry for; nothing where another index or folder is asked."""
    if " install " not in command or "pip" not in command or "{" in command:
        return ()
    words = shlex.split(command.split(" install ", 1)[1].split("&&")[0].replace("\\", "/"))
    if any(word.split("=")[0] in ELSEWHERE for word in words):
        return ()
    named = [word for before, word in pairwise(("", *words)) if not word.startswith("-") and before not in WITH_VALUE]
    return tuple(word for word in named if REQUIREMENT.fullmatch(word) and not word.isupper())


def _unique_sets(commands: Iterable[str]) -> list[tuple[str, ...]]:
    return sorted({asked for command in commands if (asked := _installed(command))})


COMMANDS = _unique_sets(command for row in (*ERRORS, *SITUATIONS) for command in row.commands)
ON_WINDOWS = _unique_sets(command for row in ERRORS for command in row.windows)


def _resolved(
    *requirements: str, python: str, platform: str = "x86_64-manylinux_2_28"
) -> subprocess.CompletedProcess[str]:
    uv = shutil.which("uv", path=str(Path(sys.prefix) / "bin")) or shutil.which("uv")
    assert uv is not None
    argv = [uv, "pip", "compile", "-q", "--no-header", "--no-annotate", "--python-version", python]
    argv += ["--python-platform", platform, "-"]
    variables = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"}  # uv takes 13 for a Mac's, which MLX left
    return subprocess.run(
        argv, input="\n".join(requirements), text=True, capture_output=True, timeout=300, check=False, env=variables
    )


@pytest.mark.parametrize("requirement", [*INSTEAD, *CURES])
def test_it_resolves_beside_the_newest(requirement: str) -> None:
    done = _resolved(requirement, *NEWEST, python="3.12")
    assert done.returncode == 0, done.stderr
    name = re.sub(r"[-_.]+", "-", _named(requirement)).lower()
    assert re.search(rf"^{name}(?:\[[^\]]*\])?==", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("requirement", [*NEAR, *PINS])
def test_an_old_release_resolves_by_itself(requirement: str) -> None:
    tried = (_resolved(requirement, python=python) for python in ("3.11", "3.9", "3.7"))
    done = next((one for one in tried if one.returncode == 0 or FOUND.search(one.stderr)), None)
    assert done is not None, f"{requirement} resolves on no Python of its time"


@pytest.mark.parametrize("requirements", COMMANDS, ids=" ".join)
def test_what_a_command_asks_for_is_there(requirements: tuple[str, ...]) -> None:
    on_a_mac = any(_named(one) in FOR_A_MAC for one in requirements)
    _is_there(requirements, "aarch64-apple-darwin" if on_a_mac else "x86_64-manylinux_2_28")


@pytest.mark.parametrize("requirements", ON_WINDOWS, ids=" ".join)
def test_what_a_command_for_windows_asks_for_is_there(requirements: tuple[str, ...]) -> None:
    _is_there(requirements, "x86_64-pc-windows-msvc")


def _is_there(requirements: tuple[str, ...], platform: str) -> None:
    """For one of the Pythons that people train with."""
    tried = (_resolved(*requirements, python=python, platform=platform) for python in ("3.12", "3.10", "3.9", "3.13"))
    failures = []
    for done in tried:
        if done.returncode == 0 or FOUND.search(done.stderr):
            return
        failures.append(done.stderr)
    raise AssertionError("\n".join(failures))
