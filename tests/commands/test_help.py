"""What people read first, help and errors, on the narrowest terminal in use."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from envdoctor.cli import envdoctor

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 80


def every_command(
    command: click.Command, names: tuple[str, ...], parent: click.Context | None
) -> Iterator[tuple[tuple[str, ...], click.Context]]:
    context = click.Context(command, info_name=names[-1], parent=parent, terminal_width=COLUMNS)
    yield names, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from every_command(inner, (*names, name), context)


ALL = {" ".join(names): context for names, context in every_command(envdoctor, ("envdoctor",), None)}


@pytest.mark.parametrize("name", ALL)
def test_no_line_is_wider_than_a_terminal(name: str) -> None:
    wide = [line for line in ALL[name].get_help().splitlines() if len(line) > COLUMNS]
    assert wide == []


@pytest.mark.parametrize("name", ALL)
def test_examples_name_options_that_there_are(name: str) -> None:
    """An option that was renamed must not live on in an example."""
    _, _, examples = (ALL[name].command.help or "").partition("Examples:\n")
    for line in examples.partition("\n\n")[0].splitlines():
        words = shlex.split(line.partition(" > ")[0], comments=True)
        if words[:1] != ["envdoctor"] or "train" in words:  # whose options are the trainer's
            continue
        own = words[: words.index("--")] if "--" in words else words
        asked = max((known for known in ALL if words[: len(known.split())] == known.split()), key=len)
        if asked == "envdoctor":
            asked = "envdoctor check"
        known = {name for option in ALL[asked].command.params for name in (*option.opts, *option.secondary_opts)}
        assert {word for word in own if re.match("--?[a-z]", word)} <= known, line


def test_there_are_commands_to_look_at() -> None:
    assert len(ALL) >= 25
    assert {"envdoctor baseline record", "envdoctor lock", "envdoctor mcp"} <= ALL.keys()


MISTAKES = {
    "check --env .": "",
    "check --env /nowhere": "",
    "check --target h10 --no-torch": "",
    "check --target https://example.org/x.toml": "envdoctor lock NAME --share",
    "check --format yaml": "",
    "check --output x.foo": "",
    "check --select packges": "",
    "fix --target nope --env {python}": "",
    "run -- pythn x.py": "",
    "baseline show --target nope": "",
    "ci nowhere": "",
    "explain precison": "",
    "fit --model nowhere": "",
    "init --env {python}": "",
}


@pytest.mark.parametrize("words", MISTAKES)
def test_no_answer_to_a_mistake_is_wider_than_a_terminal(words: str, tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    variables = {**kept, "TERM": "xterm", "PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}:/usr/bin"}
    argv = [sys.executable, "-m", "envdoctor", *words.format(python=sys.executable).split()]
    child = subprocess.Popen(argv, stdin=follower, stdout=follower, stderr=follower, cwd=tmp_path, env=variables)
    os.close(follower)
    os.write(leader, b"\x04")  # whoever is asked something says nothing
    told = b""
    with contextlib.suppress(OSError), open(leader, "rb", buffering=0) as stream:
        while chunk := stream.read(4096):
            told += chunk
    child.wait(60)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told.decode())
    lines = [line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")]
    assert child.returncode != 0
    assert [line for line in lines if len(line) > COLUMNS] == []
    assert MISTAKES[words] in text, "a command to copy stays in one line"
    assert "internal error" not in text
