"""The end of a run as it is told: a few lines for people, one line of JSON for programs, and the exit code."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import textwrap
from pathlib import Path

from trainer.errors import TrainerError
from trainer.measure import order as orders
from trainer.report import Failure, RunReport

MODULE = "python -m trainer"
FORMATS = ("auto", "text", "json")


def finish(report: RunReport, path: Path | None, form: str = "auto") -> int:
    """Write the report to `path`, tell how the run ended, and return the exit code: 0 finished, 1 failed (an upload
    that failed included), 130 interrupted.

    form: text, json, or auto, which is json where stdout is a pipe.
    """
    error, interrupted = report.error, report.outcome == "interrupted"
    rank = report.processes.rank if report.processes else int(os.environ.get("RANK") or 0)
    if rank > 0:  # the first process speaks for all; others only tell what it cannot know
        if error and error.kind != "other-process":
            say(f"process {rank}: {error.message}\n       {as_options(error.remedy)}")
        return 1 if error else 130 if interrupted else 0
    error = error or _failed_uploads(report)
    if path is not None:
        try:
            orders.write_report(path, report)
        except TrainerError as problem:
            error = error or Failure.of(problem)
    if error:
        if report.outcome == "finished":
            say("\n".join(summary(report)))
        say(f"error: {error.message}\n       {as_options(error.remedy)}")
        return 1
    if interrupted:
        say(f"interrupted after step {report.steps}; the same command goes on from there{_folder_to_name(report)}")
        return 130
    as_json = form == "json" or (form == "auto" and not sys.stdout.isatty())
    if as_json:
        names = ("outcome", "steps", "seconds", "first_loss", "last_loss", "model_path")
        told = {name: getattr(report, name) for name in names}
        if report.already_finished:
            told["already_finished"] = True
        say("\n".join(summary(report)))
        print(json.dumps({**told, "output": report.settings.output, "report": str(path) if path else None}))
    else:
        print("\n".join(summary(report)))
    return 0


def as_options(remedy: str) -> str:
    """A remedy in the words of a command line, where settings are options: "set over_long=skip" for a file is
    "give --over_long skip" here."""
    return re.sub(r"\b([Ss])et (\w+)=(\w+)", lambda m: f"{'G' if m[1] == 'S' else 'g'}ive --{m[2]} {m[3]}", remedy)


def program() -> str:
    """How the user started this: `envdoctor train` says so, else the module."""
    return os.environ.get("TRAINER_PROGRAM") or MODULE


def summary(report: RunReport) -> list[str]:
    """How a finished run went, for people."""
    if report.timing is not None:
        return [f"✓ measured {report.steps} steps in {_clock(report.seconds)}"]
    if report.already_finished:
        lines = [f"✓ already finished (step {report.steps} of {report.steps}): nothing to do"]
    else:
        lines = [f"✓ {report.steps} steps in {_clock(report.seconds)}"]
    if report.last_loss is not None and report.first_loss is not None:
        lines[0] += f", loss {report.first_loss:.3g} → {report.last_loss:.3g}"
    if report.validation:
        found = report.validation
        lines[0] += f", {found['told']} at step {found['best_step']}"
    if report.model_path:
        lines.append(f"  model: {report.model_path}")
        lines.append(f"  try it: {program()} chat {shlex.quote(report.model_path)}")
    if report.pushed_to:
        lines.append(f"  pushed: {report.pushed_to}")
    return lines


def say(text: str) -> None:
    """To the terminal, beside what programs read; wrapped at words there, but for a command to copy at a line's end."""
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else 0
    lines = text.split("\n") if width >= 20 else []
    rows = [row for line in lines for row in (_wrap(line, width) if len(line) > width else [line])]
    print("\n".join(rows) if lines else text, file=sys.stderr, flush=True)


def _wrap(line: str, width: int) -> list[str]:
    said, mark, command = line.rpartition(": hf ")
    hang = " " * (7 if line.startswith("error: ") else len(line) - len(line.lstrip()) + 2)
    rows = textwrap.wrap(
        said + mark[:1] if mark else line, width, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False
    )
    return [*rows, f"{hang}{mark[2:]}{command}"] if mark else rows


def _failed_uploads(report: RunReport) -> Failure | None:
    failed = (report.uploads or {}).get("failed") or []
    if not failed:
        return None
    names = ", ".join(entry["name"] for entry in failed)
    where = f"; the trained model is at {report.model_path}" if report.model_path else ""
    return Failure(
        "upload-failed", f"{names} did not reach {(report.uploads or {})['url']}: {failed[-1]['error']}{where}",
        "Repeat the command: it trains nothing twice, and uploads the last checkpoint again.",
    )  # fmt: skip


def _folder_to_name(report: RunReport) -> str:
    """For a run whose folder was not given: the next command would take a new one."""
    output = report.settings.output
    return "" if report.named_output else f" with --output {shlex.quote(output)}"


def _clock(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
