"""Under --format json every failure is JSON too, on stdout, in one form; stderr says the same for people."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envdoctor.commands._failure import OTHERS, wants_json
from tests.commands.test_check import envdoctor
from tests.commands.test_words import COMMANDS, OPTIONS
from tests.values.test_json_schemas import validate

GONE = "./no-such-place"
WRONG: dict[str, tuple[tuple[str, ...], int, str]] = {
    "init": (("--env", GONE, "--target", "h1000"), 2, "input"),
    "check": (("--env", GONE), 2, "input"),
    "fix": (("--env", GONE, "--target", "cpu"), 2, "input"),
    "undo": (("--env", GONE), 2, "input"),
    "preflight": (("--env", GONE), 3, "unknown"),
    "verify": (("--env", GONE), 2, "input"),
    "ablate": (("no-such-variant", "--env", GONE), 2, "input"),
    "baseline record": (("--env", GONE), 2, "input"),
    "baseline show": (("--target", "h1000"), 2, "input"),
    "baseline limit": (("--gpu", "H1000", "--weights", "1e9", "--tokens", "1"), 2, "input"),
    "fit": (("--model", GONE), 2, "input"),
    "report": (("--from", GONE), 2, "input"),
    "lock": (("nosuch",), 2, "input"),
    "fetch": (("--target", "h1000", "--folder", GONE), 2, "input"),
    "diagnose": ((GONE,), 2, "input"),
    "facts": (("--env", GONE), 2, "input"),
    "fleet": ((GONE,), 2, "input"),
    "explain": (("precison",), 2, "input"),
}
"""Command -> what is wrong, the exit code, the kind. What lists something (targets, rules) has nothing to be wrong."""
LISTS = {"targets", "rules"}
WITHOUT = {"run", "train", "mcp", "ci"}  # another program's output, another protocol, a file to redirect


def test_every_command_that_speaks_json_is_here() -> None:
    speaks = {name for name, option in OPTIONS if option.name == "format_"}
    assert speaks == set(WRONG) | LISTS
    assert set(COMMANDS) - speaks == WITHOUT


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(name: str, tmp_path: Path) -> None:
    words, code, kind = WRONG[name]
    outcome = envdoctor(*name.split(), *words, "--format", "json", cwd=tmp_path)
    found = json.loads(outcome.out)
    validate("error", found)
    error = found["error"]
    assert (outcome.code, error["exit_code"], error["kind"]) == (code, code, kind), outcome.err
    assert error["message"] in " ".join(outcome.err.split()), "people are told the same"
    assert error["remedy"], "what to do about it"


@pytest.mark.parametrize("name", [*WRONG, *sorted(LISTS)])
def test_wrong_usage(name: str, tmp_path: Path) -> None:
    outcome = envdoctor(*name.split(), "--nonsense", "--format=json", cwd=tmp_path)
    found = json.loads(outcome.out)
    validate("error", found)
    assert (outcome.code, found["error"]["kind"]) == (2, "usage"), outcome.err
    assert "--nonsense" in found["error"]["message"]


def test_a_wrong_configuration_is_an_input(tmp_path: Path) -> None:
    (tmp_path / "envdoctor.toml").write_text("tarteg = 'h100'\n")
    error = json.loads(envdoctor("--format", "json", cwd=tmp_path).out)["error"]
    assert (error["kind"], error["where"], error["remedy"]) == ("input", "line 1, tarteg", "Did you mean target?")
    assert error["file"].endswith("envdoctor.toml")


def test_an_unknown_command(tmp_path: Path) -> None:
    error = json.loads(envdoctor("chek", "--format", "json", cwd=tmp_path).out)["error"]
    assert error["message"].endswith("Did you mean check?")


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interruption_is_told(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "envdoctor", "diagnose", "-", "--format", "json"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        # Shells ignore it for what they run in the background, and so would all that these tests start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    time.sleep(2)  # it reads its standard input by then
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    found = json.loads(out)
    validate("error", found)
    assert (child.returncode, found["error"]["kind"], found["error"]["exit_code"]) == (130, "interrupted", 130), err


STOPPED_AFTER_ITS_ANSWER = """
import os, signal
from envdoctor import cli
from envdoctor.commands import _output

answer = _output.print_json

def then_stopped(document):
    answer(document)
    os.kill(os.getpid(), signal.SIGTERM)

_output.print_json = then_stopped
cli.main(["targets", "--format", "json"])
"""


def test_a_stop_after_the_answer_does_not_answer_again(tmp_path: Path) -> None:
    """A launcher ends the other ranks when the first has ended."""
    done = subprocess.run(
        [sys.executable, "-c", STOPPED_AFTER_ITS_ANSWER], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 143
    assert "error" not in json.loads(done.stdout)
    assert "told to stop" in done.stderr


def test_without_it_stdout_stays_empty(tmp_path: Path) -> None:
    outcome = envdoctor("check", "--env", GONE, cwd=tmp_path)
    assert (outcome.code, outcome.out) == (2, "")


@pytest.mark.parametrize("word", OTHERS)
def test_what_belongs_to_another_program_is_not_read(word: str) -> None:
    assert not wants_json([word, "--env", "x", "--", "tool", "--format", "json"])
    assert not wants_json(["check", "--", "--format", "json"])
    assert wants_json(["check", "--format", "json"])
    assert not wants_json([])
