"""What was mistyped is named, with what was probably meant; nothing mistyped passes, and none of it is called a bug."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.commands.test_check import envdoctor


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("chek",), 2, "Did you mean check?"),
        (("prefligth",), 2, "Did you mean preflight?"),
        (("zzz",), 2, "See: envdoctor --help"),
        (("stf",), 2, "Did you mean train sft?"),
        (("check", "./env"), 2, "Did you mean --env ./env?"),
        (("fix", "tests"), 2, "Did you mean --env tests?"),
        (("fix", "h100"), 2, "Did you mean --target h100?"),
        (("fetch", "cpu", "--folder", "wheels"), 2, "Did you mean --target cpu?"),
        (("explain", "precision", "more"), 2, "unexpected extra argument"),
        (("check", "--no-torhc"), 2, "Did you mean '--no-torch'?"),
        (("check", "--no-torch", "--env", sys.prefix, "--select", "packges"), 2, "Did you mean packages?"),
        (
            ("check", "--no-torch", "--env", sys.prefix, "--ignore", "torch/import-fial"),
            2,
            "Did you mean torch/import-fails?",
        ),
        (
            ("check", "--no-torch", "--env", sys.prefix, "--ignore", "import-fials"),
            2,
            "Did you mean torch/import-fails?",
        ),
        (("explain", "packges"), 2, "Did you mean"),
        (("run", "--env", sys.prefix, "--", "pythn", "train.py"), 127, "Did you mean python"),
        (("run", "--env", sys.prefix, "--", "no-such-command-at-all"), 127, "command not found"),
        (("run", "--env", sys.prefix, "--", "./README.md"), 126, "Permission denied"),
    ],
    ids=lambda value: " ".join(value).replace(sys.prefix, "ENV") if isinstance(value, tuple) else None,
)
def test_a_mistake_is_named(words: tuple[str, ...], code: int, said: str) -> None:
    outcome = envdoctor(*words)
    assert outcome.code == code, outcome.err
    assert said in outcome.err
    assert "bug" not in outcome.err


def test_a_path_in_place_of_a_command_is_understood(tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text("torch==2.0\n")
    assert f"Did you mean: envdoctor diagnose {report}" in envdoctor(str(report)).err
    assert f"Did you mean: envdoctor check --env {tmp_path}" in envdoctor(str(tmp_path)).err


def test_help_is_a_word_too() -> None:
    assert envdoctor("help", "fix").out == envdoctor("fix", "--help").out
