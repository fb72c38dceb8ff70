"""The user's defaults: read from either file, and every mistake named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.configuration import read
from envdoctor.errors import Trouble


def test_without_a_file_there_are_no_defaults(tmp_path: Path) -> None:
    assert read(tmp_path) == {}


@pytest.mark.parametrize("name", ["envdoctor.toml", "pyproject.toml"])
def test_both_files_are_read(tmp_path: Path, name: str) -> None:
    header = "[tool.envdoctor]\n" if name == "pyproject.toml" else ""
    (tmp_path / name).write_text(f'{header}target = "h100"\nignore = ["host", "gpu/throttled"]\nfail-on = "error"\n')
    assert read(tmp_path) == {"target_name": "h100", "ignore": ["host", "gpu/throttled"], "fail_on": "error"}


def test_a_pyproject_of_somebody_else_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "theirs"\n')
    assert read(tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        ('target = "h100"\nfailon = "error"\n', "line 2", "fail-on"),
        ("target = 3\n", "line 1", ""),
        ('select = ["a", 3]\n', "line 1", ""),
        ('target = "h100\n', "line 1", ""),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, text: str, place: str, remedy: str) -> None:
    (tmp_path / "envdoctor.toml").write_text(text)
    with pytest.raises(Trouble) as caught:
        read(tmp_path)
    assert place in caught.value.where
    assert remedy in caught.value.remedy
