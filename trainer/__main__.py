"""The command line: `python -m trainer TASK --setting value ...` or `python -m trainer --order ORDER.json`.

Exit codes: 0 finished, 1 failed with a message, 2 not understood, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from trainer import tasks
from trainer.data import workloads
from trainer.errors import TrainerError, in_one_line
from trainer.measure import order as orders
from trainer.measure.protocol import Protocol
from trainer.options.settings import as_file
from trainer.report import Failure, RunReport
from trainer.terminal import chat, closing, command_line
from trainer.terminal.closing import program, say

# What gloo says of a process that is no longer there.
GONE = ("Connection closed by peer", "Connection reset by peer", "Broken pipe")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    typed = sys.argv[1:] if arguments is None else arguments
    if typed[:1] == ["chat"]:
        return chat.run(typed[1:])
    known = [*tasks.names(), *command_line.TITLES]
    task_typed = next((word for word in typed[:1] if word in known), None)
    parser = command_line.parser(task_typed, "--help-all" in typed)
    given = parser.parse(typed)
    if not given.order and not given.task:
        parser.error("name a task, or give --order FILE")
    if not given.order and given.task not in known:
        parser.exit(2, command_line.unknown_task(given.task))
    report_path = Path(given.report) if given.report else None
    report = RunReport(task=given.task)
    try:
        if given.print_config:
            heading = f"{program()} {given.task} --config THIS_FILE"
            print(as_file(command_line.settings_of(given), given.task, heading), end="")
            return 0
        if given.task == "prepare" and not given.order:
            return _prepare(given)
        if given.show:
            return _show(given)
        flags: dict[str, Any] = {}
        if given.order:
            origin = Path(given.order)
            order = orders.read(origin)
            report_path = Path(order["report"])
            task, report.workload, flags = order["task"], order.get("workload"), order.get("flags", {})
            report.task = task
            report.settings, protocol = orders.settings_of(order, origin), orders.protocol_of(order, origin)
        else:
            task = given.task
            report.settings, protocol = command_line.settings_of(given), Protocol() if given.measure else None
        report.workload = report.settings.workload
        # torch is imported here, so that --help and mistakes in settings answer at once
        from trainer.run import execute

        execute(task, report.settings, flags, protocol, report, say)
    except TrainerError as error:
        report.error = Failure.of(error)
    except KeyboardInterrupt:
        report.outcome = "interrupted"
    except Exception as error:  # noqa: BLE001 - the last resort: the report and the exit code must still tell
        report.error = _unexpected_failure(error)
    return closing.finish(report, report_path, given.format)


def _prepare(given: argparse.Namespace) -> int:
    settings = command_line.settings_of(given)
    if not settings.output:
        example = f"{program()} prepare {command_line.PREPARE}"
        raise TrainerError("bad-setting", "prepare needs the folder to write to", "For example: " + example)
    from trainer.data.located import locate
    from trainer.data.prepare import prepare

    settings, _ = locate(settings, "prepare", say)
    print(json.dumps({**prepare(settings, say), "output": settings.output}))
    return 0


def _show(given: argparse.Namespace) -> int:
    from trainer.data.located import locate
    from trainer.data.show import show_examples, show_texts
    from trainer.data.tokenizer import load_tokenizer

    settings, _ = locate(command_line.settings_of(given), given.task, say)
    workload = workloads.find(settings.workload) if settings.workload else None
    tokenizer, colour = load_tokenizer(settings, workload), sys.stdout.isatty()
    if given.task == "pretrain":
        lines = show_texts(settings.data, tokenizer, settings, given.show, colour)
    else:
        files = [Path(name) for name in settings.data] or ([workload.data] if workload else [])
        lines = show_examples(files, tokenizer, settings, given.show, colour)
    for line in lines:
        print(line)
    return 0


def _unexpected_failure(error: Exception) -> Failure:
    kind = type(error).__name__
    if kind == "OutOfMemoryError" or "can't allocate memory" in str(error):
        text = "Lower tokens_per_row (accumulate more instead), or set recompute=full."
        return Failure("out-of-memory", str(error).split("\n")[0], text)
    if kind in ("DistBackendError", "DistNetworkError") or any(words in str(error) for words in GONE):
        text = "Its own message or the system's log tells why; the same command goes on from the last checkpoint."
        return Failure("other-process", f"another process of this run has ended ({in_one_line(error, 120)})", text)
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "unknown place"
    message = f"{kind}: {error} (at {place})"
    return Failure("unexpected", message, "Run `envdoctor check`; if it is clean, report this message.")


if __name__ == "__main__":
    sys.exit(main())
