"""``envdoctor diagnose``: what is wrong in a report that somebody pasted."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from envdoctor import doctor
from envdoctor.commands import _options
from envdoctor.commands._show import show
from envdoctor.commands.check import exit_code
from envdoctor.errors import Trouble
from envdoctor.facts import pasted
from envdoctor.rules.checkup import CheckOptions
from envdoctor.values.document import SIZE_LIMIT, read_text


@click.command("diagnose")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--target", "-t", "target_name", metavar="NAME", help="A GPU to hold it against too. Default: general knowledge."
)
@_options.formats
@_options.selection
@_options.fail_on
@_options.verbose
def command(
    files: tuple[Path, ...],
    target_name: str | None,
    format_: str | None,
    outputs: tuple[tuple[str, Path], ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    verbose: bool,
) -> int:
    """Read what somebody pasted about one machine, and name the root cause. A FILE may be - for standard input;
    several files are read as one report.

    Understands error messages and tracebacks as they stand in an issue, a notebook or a log of pip or uv, and
    torch.utils.collect_env, accelerate env, transformers env, ds_report, nvidia-smi, pip list, pip freeze, conda
    list, xformers.info, bitsandbytes, several of them glued together, cut off or indented.

    \b
    Examples:
      envdoctor diagnose issue.txt
      envdoctor diagnose training.log environment.txt
      python -m torch.utils.collect_env | envdoctor diagnose -

    Exit codes: 0 healthy, 1 findings, 2 wrong usage, 3 nothing in it could be judged, or an error not be explained.
    """
    started = time.monotonic()
    facts = pasted.read("\n".join(_stdin() if str(file) == "-" else read_text(file) for file in dict.fromkeys(files)))
    options = CheckOptions(target=target_name or "none", select=select, ignore=ignore)
    checkup = replace(doctor.judge(facts, options), seconds=time.monotonic() - started)
    if not (facts.origin.formats or checkup.diagnosis.root_cause or checkup.diagnosis.unexplained):
        raise Trouble(
            "nothing in it looks like an error or a report that envdoctor knows",
            file=None if len(files) > 1 or str(files[0]) == "-" else files[0],
            remedy="Paste the whole error with its traceback, and the output of: python -m torch.utils.collect_env",
            exit_code=3,
        )
    show(checkup, format_, outputs, fail_on=fail_on, verbose=verbose)
    return exit_code(checkup, fail_on)


def _stdin() -> str:
    data = sys.stdin.buffer.read(SIZE_LIMIT + 1)
    if len(data) > SIZE_LIMIT:
        raise Trouble("standard input is larger than 4 MiB", remedy="Paste the report alone.")
    return data.decode("utf-8", errors="replace")
