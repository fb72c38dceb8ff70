"""The environment a command is about, and a line that says which one it is where nobody named it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment, locate

LONGEST = 1024  # bytes; what an environment holds lies some hundreds deeper, and Linux ends paths at 4,096


def environment_of(env: Path | None) -> Environment:
    """The environment of ``--env``, or the one that is meant here. Raises `Trouble` as `locate` does."""
    if env is not None and len(os.fsencode(os.path.abspath(env))) > LONGEST:
        shown = f"{str(env)[:60]}...{str(env)[-40:]}"
        raise Trouble(f"the path is too long for an environment: {len(str(env))} characters", file=shown)
    found = locate(env)
    if found.remark:
        click.echo(found.remark, err=True)
    return found
