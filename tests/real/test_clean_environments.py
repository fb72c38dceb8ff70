"""Thirty clean environments, made by pip, uv and venv as people make them: nothing is found wrong with any.

What "clean" means: by general knowledge (`--target none`) no finding above a note. Held against a target, an
environment that was not made from its lock differs from it, and `check` says so (`packages/missing`,
`packages/pinned-versions`); that is the comparison it is asked for, also where torch is not installed at all, since
an environment without torch trains nothing. No other rule may speak above a note.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.real.environments import check, python, run, uv

pytestmark = pytest.mark.install

LOCK = ("packages/missing", "packages/no-stack", "packages/pinned-versions", "torch/import-fails")
"""What compares with the lock; the last follows from a missing torch."""


class Row(NamedTuple):
    name: str
    python: str
    made: str  # "venv OPTIONS" or "uv OPTIONS"
    by: str  # pip or uv
    packages: str
    place: str = ""


ROWS = (
    Row("venv 3.8", "3.8", "venv", "pip", ""),
    Row("venv 3.9", "3.9", "venv", "pip", "six"),
    Row("venv 3.10", "3.10", "venv", "pip", "click"),
    Row("venv 3.11", "3.11", "venv", "pip", "rich click"),
    Row("venv 3.12", "3.12", "venv", "pip", "packaging attrs"),
    Row("venv 3.13", "3.13", "venv", "pip", "tqdm"),
    Row("venv 3.11 copies", "3.11", "venv --copies", "pip", "six"),
    Row("venv 3.12 system packages", "3.12", "venv --system-site-packages", "pip", "click"),
    Row("venv 3.11 without pip", "3.11", "venv --without-pip", "uv", ""),
    Row("venv 3.10 filled by uv", "3.10", "venv --without-pip", "uv", "pyyaml jinja2"),
    Row("venv 3.13 symlinks", "3.13", "venv --symlinks --without-pip", "uv", "typing-extensions"),
    Row("uv 3.8", "3.8", "uv", "uv", "six"),
    Row("uv 3.9", "3.9", "uv", "uv", "click"),
    Row("uv 3.10", "3.10", "uv", "uv", "numpy"),
    Row("uv 3.11", "3.11", "uv", "uv", "numpy"),
    Row("uv 3.12", "3.12", "uv", "uv", "numpy"),
    Row("uv 3.13", "3.13", "uv", "uv", "numpy rich"),
    Row("uv 3.12 seeded", "3.12", "uv --seed", "pip", "six"),
    Row("uv 3.11 relocatable", "3.11", "uv --relocatable", "uv", "rich click"),
    Row("uv 3.12 system packages", "3.12", "uv --system-site-packages", "uv", "six"),
    Row("uv of the system's Python", "system", "uv", "uv", "click"),
    Row("path with spaces", "3.11", "venv --without-pip", "uv", "rich", "my environments/né w"),
    Row("path with spaces, uv", "3.12", "uv", "uv", "click", "a b/c d"),
    Row("deep path", "3.11", "uv", "uv", "six", "/".join(["folder"] * 20)),
    Row("behind a symbolic link", "3.11", "uv", "uv", "click", "link"),
    Row("two NumPy generations apart", "3.11", "uv", "uv", "numpy<2 pandas<2.2"),
    Row("scientific", "3.12", "uv", "uv", "numpy scipy"),
    Row("Hugging Face without torch", "3.11", "uv", "uv", "transformers datasets"),
    Row("torch for the CPU", "3.11", "uv", "uv", "torch==2.13.0"),
    Row("torch and Hugging Face", "3.11", "uv", "uv", "torch==2.13.0 transformers accelerate datasets"),
    Row("torch and Hugging Face, pinned older", "3.11", "uv", "uv", "torch==2.13.0 transformers==5.3.* peft==0.18.*"),
)


@pytest.fixture(params=ROWS, ids=lambda row: row.name)
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    row: Row = request.param
    interpreter = python(row.python)
    if interpreter is None:
        pytest.skip(f"there is no Python {row.python} here")
    path = tmp_path / ("env" if row.place in ("", "link") else row.place)
    path.parent.mkdir(parents=True, exist_ok=True)
    maker, *options = row.made.split()
    if maker == "venv":
        run(interpreter, "-m", "venv", *options, path)
    else:
        uv(path, "venv", "--quiet", *options, "--python", interpreter, path, folder=tmp_path)
    packages = row.packages.split()
    if packages and row.by == "pip":
        run(path / "bin" / "python", "-m", "pip", "install", "--quiet", *packages)
    elif packages:
        uv(path, "pip", "install", "--quiet", "--python", path, *packages, folder=tmp_path)
    if row.place == "link":
        os.symlink(path, tmp_path / "link")
        path = tmp_path / "link"
    yield path
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_nothing_is_found_wrong(environment: Path) -> None:
    alone = check(environment, "--target", "none")
    assert alone.loud() == []
    assert (alone.code, alone.document["outcome"]) == (0, "healthy")
    for target in ("auto", "cpu"):
        held = check(environment, "--target", target)
        assert held.loud(*LOCK) == [], target
        assert held.document["crashed"] == []
        # A Python that no lock is for is not judged, which is no clean bill.
        assert held.code == (1 if held.loud() else 3 if held.document["unseen"] else 0)


def test_an_environment_that_moved_is_named_by_its_new_place(tmp_path: Path) -> None:
    interpreter = python("3.11")
    if interpreter is None:
        pytest.skip("there is no Python 3.11 here")
    first, second = tmp_path / "first", tmp_path / "second place"
    uv(first, "venv", "--quiet", "--relocatable", "--python", interpreter, first, folder=tmp_path)
    uv(first, "pip", "install", "--quiet", "--python", first, "click", folder=tmp_path)
    first.rename(second)
    assert check(second, "--target", "none").loud() == []


def test_there_are_thirty() -> None:
    assert len(ROWS) >= 30
    assert len({row.name for row in ROWS}) == len(ROWS)
