"""``envdoctor fetch``: the wheels of a stack, for machines without a network."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import click

from envdoctor import doctor
from envdoctor.change.creation import base_for
from envdoctor.commands import _options
from envdoctor.commands._output import print_json, stderr
from envdoctor.commands._progress import steps
from envdoctor.errors import Trouble
from envdoctor.facts.environment import locate
from envdoctor.facts.model import Unavailable
from envdoctor.locks.library import load_stacks
from envdoctor.locks.writing.fetch import fetch
from envdoctor.locks.writing.new_target import write_target
from envdoctor.rules.checkup import CheckOptions
from envdoctor.sources import sources
from envdoctor.values import shell


@click.command("fetch")
@_options.target
@_options.python
@_options.folder("Where the lock and its wheels go.", required=True)
@_options.text_or_json
def command(target_name: str, stack: str | None, python: str | None, folder: Path, format_: str) -> None:
    """Download the wheels of a stack beside its lock, every file held to its size and hash.

    On the machine without network, `pip install -r pylock.NAME.toml` then works from that folder, and so does
    `envdoctor fix` with the target file that is put there.

    \b
    Example:
      envdoctor fetch --target cpu --folder ./wheelhouse
    """
    place = replace(locate(folder / "no-environment"), exists=False)
    with steps(stderr()) as progress:
        progress("choosing the stack")
        options = CheckOptions(target=target_name, stack=stack)
        _, case = base_for(place, lambda base: doctor.target_for(base, options), python)
        choice, interpreter = case.target.choice, case.facts.interpreter
        if choice is None or isinstance(interpreter, Unavailable):
            raise Trouble(case.target.no_choice or "no stack was chosen", where="--target", exit_code=3)
        lock = load_stacks(case.target, choice.stack)[choice.stack]
        found = sources.read(folder, variables=os.environ, folder=Path.cwd())
        fetched = fetch(lock, interpreter, folder, sources=found, progress=progress)
        extras = case.target.extras
        target = write_target(choice.stack, folder=folder, like=case.target, origin="what was fetched", extras=extras)
    if format_ == "json":
        counts = {"files": fetched.files, "downloaded": fetched.downloaded, "bytes": fetched.size}
        print_json({"schema": 1, "lock": str(fetched.lock), "target": str(target), **counts})
    size = fetched.size / 1e6
    text = f"✓ {fetched.lock}: {fetched.files} wheels, {fetched.downloaded} downloaded ({size:.0f} MB)"
    stderr().print(text, markup=False)
    then = f"envdoctor fix --target {shell.word(str(target))} --env ./env"
    stderr().print(f"  Without a network, from there: {then}", markup=False, soft_wrap=True)
