"""``envdoctor init``: the defaults of a folder in a file, so that nobody types them again."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from pathlib import Path

import click

from envdoctor import doctor
from envdoctor.change.creation import base_for
from envdoctor.commands import _options
from envdoctor.commands._environment import environment_of
from envdoctor.commands._output import paste, print_json, say, stderr, write
from envdoctor.configuration import FILE, in_project
from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment
from envdoctor.rules.checkup import Case, CheckOptions
from envdoctor.values.document import read_toml

SCRIPTS = ("train.py", "finetune.py", "sft.py", "run_clm.py", "main.py")


@click.command("init")
@_options.environment
@_options.target
@_options.yes
@_options.text_or_json
def command(env: Path | None, target_name: str, stack: str | None, yes: bool, format_: str) -> int:
    """Write envdoctor.toml into this folder: the environment, the target and the stack that were found here.

    What stands in it holds for every command that is typed here; an option on the command line goes before it. It
    shows the file and asks; a file that is there already is replaced only after a yes.

    \b
    Examples:
      envdoctor init
      envdoctor init --env ./env --target h100
      envdoctor init --yes --format json

    Exit codes: 0 written; 2 wrong usage, or nobody to ask; 3 no environment here could be examined.
    """
    folder = Path.cwd()
    project = folder / "pyproject.toml"
    if in_project(project):
        remedy = f"Edit it there, or take it out first: {FILE} goes before it."
        raise Trouble("the settings of this folder stand here", file=project, where="tool.envdoctor", remedy=remedy)
    environment = environment_of(env)
    case = _case(environment, CheckOptions(target=target_name, stack=stack))
    script = next((name for name in SCRIPTS if (folder / name).is_file()), None)
    text = file_text(_from(folder, environment.path), case, named=target_name != "auto", stack=stack, script=script)
    file = folder / FILE
    if not yes:
        _agree(file, text)
    write(file, text)
    if format_ == "json":
        print_json({"schema": 1, "file": str(file), "settings": read_toml(file)})
        return 0
    say(stderr(), f"✓ {FILE} written", style="green")
    paste(stderr(), "  Next: ", "envdoctor" if environment.exists else "envdoctor fix")
    return 0


def _case(environment: Environment, options: CheckOptions) -> Case:
    if environment.exists:
        return doctor.target_for(environment, options)
    return base_for(environment, lambda place: doctor.target_for(place, options), None)[1]


def file_text(env: str, case: Case, *, named: bool, stack: str | None, script: str | None) -> str:
    """The file's text, with what was found and why. ``named``: somebody asked for this target by its name.

    A target that was found by its GPU is written down; where there was no GPU, ``auto`` stays, so that the same file
    serves the machine that has one.
    """
    target, choice = case.target, case.target.choice
    gpu = named or not target.is_cpu
    taken = f"{choice.stack}: {choice.reason}" if choice is not None else (target.no_choice or "no stack fits here")
    lines = [
        "# Defaults of envdoctor in this folder; the command line goes before them.",
        "",
        f"env = {_quote(env)}",
        "",
        *_comment(f"The GPU to train on (envdoctor targets). Here: {_line(case.target_reason)}"),
        f"target = {_quote(target.name if gpu else 'auto')}",
        "",
        *_comment(f"The lock that it is held against. Here {_line(taken)}"),
        f"{'' if stack else '# '}stack = {_quote(stack or (choice.stack if choice is not None else 'cpu'))}",
        "",
        "# Exit code 1 from this severity on (error, warning, note, never), and what is",
        "# not looked at.",
        '# fail-on = "warning"',
        '# ignore = ["host", "gpu/throttled"]',
        "",
        "# Read these training scripts too, and know what an hour costs.",
        f"# script = [{_quote(script or 'train.py')}]",
        '# price = "2.49/h"',
        "",
        "# Locks that are shared: envdoctor lock NAME --share prints their addresses.",
        '# targets = ["https://HOST/locks/targets/team.toml#sha256=..."]',
    ]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 80, initial_indent="# ", subsequent_indent="# ", break_long_words=False)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # JSON's way to write a text is one of TOML's


def _line(text: str) -> str:
    return " ".join(text.split())


def _from(folder: Path, path: Path) -> str:
    """A path below the folder without the folder, for the file to hold on other machines too; else as it is."""
    try:
        return path.relative_to(folder).as_posix()
    except ValueError:
        return os.fspath(path)


def _agree(file: Path, text: str) -> None:
    console, exists = stderr(), file.exists()
    console.print(text, markup=False, soft_wrap=True)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        problem = "nothing was written: there is nobody to ask here"
        if exists:
            problem = f"nothing was written: {FILE} is there already, and there is nobody to ask here"
        raise Trouble(problem, file=file, remedy="Add --yes to write it as shown.")
    click.confirm(f"{'Replace' if exists else 'Write'} {FILE}?", abort=True, err=True)
