"""``envdoctor check``: examine an environment and say what is wrong."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from envdoctor.commands import _options
from envdoctor.commands._environment import environment_of
from envdoctor.errors import Trouble
from envdoctor.facts import collect

if TYPE_CHECKING:
    from envdoctor.rules.checkup import Checkup


@click.command("check")
@_options.environment
@_options.target
@click.option("--no-torch", is_flag=True, help="Do not import torch (faster; precision and attention are not judged).")
@click.option("--deep", is_flag=True, help="Hash every installed file against its RECORD.")
@click.option("--facts", "facts_file", type=click.Path(path_type=Path), help="Judge recorded facts instead.")
@click.option(
    "--script",
    "scripts",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Read a training script too.",
)
@click.option(
    "--dockerfile",
    "images",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Judge this Dockerfile, compose file or devcontainer.json instead of an environment. Repeatable.",
)
@click.option("--driver", metavar="VERSION", help="With --dockerfile: the driver where the image will run.")
@click.option("--torch-deadline", default=60.0, show_default=True, metavar="SECONDS", help="For importing torch.")
@_options.formats
@_options.selection
@_options.fail_on
@_options.verbose
def command(
    env: Path | None,
    target_name: str,
    stack: str | None,
    no_torch: bool,
    deep: bool,
    facts_file: Path | None,
    scripts: tuple[Path, ...],
    images: tuple[Path, ...],
    driver: str | None,
    torch_deadline: float,
    format_: str | None,
    outputs: tuple[tuple[str, Path], ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    verbose: bool,
) -> int:
    """Check an environment against the lockfile of its GPU.

    \b
    Examples:
      envdoctor check
      envdoctor check --target h100 --env /opt/venv
      envdoctor check --format json --fail-on error > report.json
      envdoctor check --dockerfile Dockerfile --target h100 --driver 570.86.15

    Exit codes: 0 healthy, 1 findings, 2 wrong usage, 3 it could not be examined, or is not judged (ROCm, JAX ...).
    """
    from envdoctor import doctor
    from envdoctor.rules.options import CheckOptions  # not the values that judging needs: the probes start first

    options = CheckOptions(
        target=target_name,
        stack=stack,
        torch=not no_torch,
        deep=deep,
        torch_deadline=torch_deadline,
        scripts=scripts,
        images=images,
        driver=driver,
        select=select,
        ignore=ignore,
        recorded=facts_file is not None,
    )
    if images:
        _require_alone(env, scripts)
        checkup = doctor.examine_images(options, None if facts_file is None else collect.read(facts_file))
    elif driver is not None:
        raise Trouble("a driver is named for an image only", where="--driver", remedy="Add --dockerfile FILE.")
    elif facts_file is None:
        showing = functools.partial(importlib.import_module, "envdoctor.commands._show")
        checkup = doctor.examine(environment_of(env), options, meanwhile=showing)
    else:
        checkup = doctor.judge(collect.read(facts_file), options)
    from envdoctor.commands._show import show

    show(checkup, format_, outputs, fail_on=fail_on, verbose=verbose)
    return exit_code(checkup, fail_on)


def _require_alone(env: Path | None, scripts: tuple[Path, ...]) -> None:
    """Raises `Trouble` where an environment or a script is to be judged as well: an image has its own."""
    for option, given in (("--env", env), ("--script", scripts)):
        if given:
            raise Trouble(
                "image files are judged by themselves", where=option, remedy=f"Leave out {option}, or --dockerfile."
            )


def exit_code(checkup: Checkup, fail_on: str) -> int:
    """0 healthy; 1 findings at or above ``fail_on``; 3 when the environment was not seen or an error not explained,
    whatever else was judged, or when something else that a clean bill needs is not known and nothing worse found."""
    from envdoctor.rules.finding import FAIL_ON

    severity, diagnosis = FAIL_ON[fail_on], checkup.diagnosis
    if diagnosis.blind or diagnosis.unexplained is not None:
        return 3
    if severity is not None and diagnosis.at_least(severity):
        return 1
    return 0 if diagnosis.certain else 3
