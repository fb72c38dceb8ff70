"""What is prescribed can be installed today: beside the newest trl, peft and accelerate, or, for who stays with an old
release, by itself."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from envdoctor.knowledge.broken import RELEASES
from envdoctor.knowledge.names import Name
from envdoctor.knowledge.table import bundled_table

pytestmark = pytest.mark.install

NEWEST = ("trl", "peft", "accelerate")
NOT_TODAY = frozenset({"python"})  # no distribution


def _named(requirement: str) -> str:
    return re.split(r"[<>=!~ \[]", requirement, maxsplit=1)[0]


def _unique(requirements: list[str]) -> list[str]:
    return sorted({one for one in requirements if _named(one) not in NOT_TODAY})


INSTEAD = _unique([row.instead for row in RELEASES])
NEAR = _unique([row.near for row in RELEASES if row.near and re.fullmatch(r"[\w.-]+(?:[<>=!~]=?[\w.*]+,?)+", row.near)])
ROWS = [bundled_table("names").parse(block, Name) for block in bundled_table("names").blocks]
PINS = _unique([row.pin for row in ROWS if row.pin])
CURES = _unique([line for row in ROWS for line in row.cured_in])


def _resolved(*requirements: str, python: str) -> subprocess.CompletedProcess[str]:
    uv = shutil.which("uv", path=str(Path(sys.prefix) / "bin")) or shutil.which("uv")
    assert uv is not None
    argv = [uv, "pip", "compile", "-q", "--no-header", "--no-annotate", "--python-version", python]
    argv += ["--python-platform", "x86_64-manylinux_2_28", "-"]
    return subprocess.run(argv, input="\n".join(requirements), text=True, capture_output=True, timeout=300, check=False)


@pytest.mark.parametrize("requirement", [*INSTEAD, *CURES])
def test_it_resolves_beside_the_newest(requirement: str) -> None:
    done = _resolved(requirement, *NEWEST, python="3.12")
    assert done.returncode == 0, done.stderr
    name = re.sub(r"[-_.]+", "-", _named(requirement)).lower()
    assert re.search(rf"^{name}(?:\[[^\]]*\])?==", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("requirement", [*NEAR, *PINS])
def test_an_old_release_resolves_by_itself(requirement: str) -> None:
    done = _resolved(requirement, python="3.11")
    if done.returncode:
        done = _resolved(requirement, python="3.9")
    assert done.returncode == 0, done.stderr
