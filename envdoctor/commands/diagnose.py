"""``envdoctor diagnose``: what is wrong in a report that somebody pasted."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from envdoctor import doctor, pasted
from envdoctor.commands import _options
from envdoctor.commands._show import show
from envdoctor.commands.check import exit_code
from envdoctor.document import SIZE_LIMIT, read_text
from envdoctor.errors import Trouble
from envdoctor.examination import Question


@click.command("diagnose")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--target", "-t", "target_name", metavar="NAME", help="Hold it against a target too; default: general knowledge."
)
@_options.formats
@_options.selection
@_options.fail_on
@_options.verbose
def command(
    file: Path,
    target_name: str | None,
    format_: str | None,
    outputs: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    verbose: bool,
) -> int:
    """Read a report that somebody pasted, and name its root cause. FILE may be - for standard input.

    Understands torch.utils.collect_env, accelerate env, transformers env, ds_report, nvidia-smi, pip list, pip
    freeze, conda list, xformers.info, bitsandbytes, several of them glued together, cut off or indented.

    \b
    Examples:
      envdoctor diagnose issue.txt
      python -m torch.utils.collect_env | envdoctor diagnose -
    """
    started = time.monotonic()
    text = _stdin() if str(file) == "-" else read_text(file)
    facts = pasted.read(text)
    if not facts.origin.formats:
        raise Trouble(
            "nothing in it looks like a report that envdoctor knows",
            file=None if str(file) == "-" else file,
            remedy="Paste the output of: python -m torch.utils.collect_env",
            exit_code=3,
        )
    question = Question(target=target_name or "none", select=select, ignore=ignore)
    prepared = doctor.prepare(question)
    examination = replace(doctor.judge(facts, question, prepared=prepared), seconds=time.monotonic() - started)
    show(examination, prepared.rules, format_, outputs, fail_on=fail_on, verbose=verbose)
    return exit_code(examination, fail_on)


def _stdin() -> str:
    data = sys.stdin.buffer.read(SIZE_LIMIT + 1)
    if len(data) > SIZE_LIMIT:
        raise Trouble("standard input is larger than 4 MiB", remedy="Paste the report alone.")
    return data.decode("utf-8", errors="replace")
