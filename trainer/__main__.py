"""The command line: `python -m trainer TASK --setting value ...` or `python -m trainer --order ORDER.json`.

Exit codes: 0 finished, 1 failed with a message, 130 interrupted.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from trainer import order as orders
from trainer import tasks, workloads
from trainer.errors import TrainerError
from trainer.protocol import Protocol
from trainer.settings import PRESETS, TASK_PRESETS, Settings, from_mapping, read_file

PREPARE = "python -m trainer prepare --data texts.jsonl --tokenizer FOLDER --output SHARDS"


def _all_tasks() -> List[str]:
    lines = ["tasks:"] + [
        "  %-10s %s\n             %s" % (name, title, example) for name, (_, title, example) in tasks.TASKS.items()
    ]
    lines += ["  prepare    texts to token shards, which pretrain reads\n             " + PREPARE]
    lines += ["", "workloads (bundled; python -m trainer sft --workload chat-5m):"]
    return lines + ["  %-10s %s" % (work.name, work.title) for work in workloads.WORKLOADS.values()]


def _examples(task: str) -> List[str]:
    if task == "prepare":
        return ["example:", "  " + PREPARE]
    example = tasks.TASKS[task][2]
    return [
        "examples:", "  " + example, "  torchrun --nproc-per-node 2 -m " + example.partition(" -m ")[2],
        "  accelerate launch --config_file FSDP2.yaml -m " + example.partition(" -m ")[2],
    ]  # fmt: skip


def _parser(task: Optional[str] = None) -> argparse.ArgumentParser:
    """All options; for a named task with its own examples, else with those of all."""
    lines = _examples(task) if task else _all_tasks()
    title = tasks.TASKS[task][1] if task in tasks.TASKS else "Train a language model, and say where the time goes."
    parser = argparse.ArgumentParser(
        prog="python -m trainer", description=title[0].upper() + title[1:],
        epilog="\n".join(lines), formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("task", nargs="?", metavar="TASK", help=", ".join(tasks.TASKS))
    parser.add_argument("--order", metavar="FILE", help="run an order file and write its report")
    parser.add_argument("--config", metavar="FILE", help="settings as JSON or TOML; options given here win over it")
    presets = dict.fromkeys([*PRESETS, *(name for _, name in TASK_PRESETS)])
    help_text = "before: as plain trainers do it; test, production: sizes of pretraining runs"
    parser.add_argument("--preset", default="default", choices=list(presets), help=help_text)
    parser.add_argument("--report", metavar="FILE", help="write what happened as JSON")
    parser.add_argument(
        "--measure", action="store_true", help="time the steps of the run instead of training to the end"
    )
    group = parser.add_argument_group("settings")
    for item in dataclasses.fields(Settings):
        text = "%s (default: %s)" % (item.metadata["help"], item.default)
        choices = item.metadata["choices"]
        shown = "{%s}" % ",".join(choices) if choices else item.name.rpartition("_")[2].upper()
        names = ["--" + item.name] + (["--" + item.name.replace("_", "-")] if "_" in item.name else [])
        group.add_argument(*names, dest="set_" + item.name, default=None, metavar=shown, help=text.replace("%", "%%"),
                           nargs="+" if item.name == "data" else None)  # fmt: skip
    return parser


def _from_command_line(given: argparse.Namespace) -> Tuple[Settings, Optional[Protocol]]:
    file_values: Dict[str, Any] = read_file(Path(given.config)) if given.config else {}
    typed = {name[4:]: value for name, value in vars(given).items() if name.startswith("set_") and value is not None}
    values = {**file_values, **typed}
    if values.get("workload"):
        values = {**workloads.find(values["workload"]).settings, **values}
    return from_mapping(
        values, given.config or "command line", given.preset, given.task
    ), Protocol() if given.measure else None


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command line; returns the exit code."""
    typed = sys.argv[1:] if arguments is None else arguments
    parser = _parser(next((word for word in typed[:1] if word in tasks.TASKS or word == "prepare"), None))
    given = parser.parse_args(arguments)
    if not given.order and not given.task:
        parser.error("name a task, or give --order FILE")
    report_path = Path(given.report) if given.report else None
    report = orders.empty_report(given.task, None)
    settings = Settings()
    try:
        if given.task == "prepare" and not given.order:
            return _prepare(given)
        flags: Dict[str, Any] = {}
        if given.order:
            origin = Path(given.order)
            order = orders.read(origin)
            report_path = Path(order["report"])
            report["task"], report["workload"], flags = order["task"], order.get("workload"), order.get("flags", {})
            settings, protocol = orders.settings_of(order, origin), orders.protocol_of(order, origin)
        else:
            settings, protocol = _from_command_line(given)
        report["workload"] = settings.workload
        from trainer.run import (
            execute,
        )  # torch is imported here, so that --help and mistakes in settings answer at once

        execute(report["task"], settings, flags, protocol, report, _say)
    except TrainerError as error:
        report["error"] = {"kind": error.kind, "message": error.message, "remedy": error.remedy}
    except KeyboardInterrupt:
        report["outcome"] = "interrupted"
    except Exception as error:  # noqa: BLE001 - the last resort: the report and the exit code must still tell
        report["error"] = _unexpected(error)
    return _finish(report, report_path, settings)


def _prepare(given: argparse.Namespace) -> int:
    settings, _ = _from_command_line(given)
    if settings.output == Settings().output:
        raise TrainerError("bad-setting", "prepare needs the folder to write to", "For example: " + PREPARE)
    from trainer.prepare import prepare

    print(json.dumps({**prepare(settings, _say), "output": settings.output}))
    return 0


def _unexpected(error: Exception) -> Dict[str, str]:
    kind = type(error).__name__
    if kind == "OutOfMemoryError" or "can't allocate memory" in str(error):
        text = "Lower tokens_per_row (accumulate more instead), or set recompute=full."
        return {"kind": "out-of-memory", "message": str(error).split("\n")[0], "remedy": text}
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    place = "%s:%s" % (Path(frames[-1].filename).name, frames[-1].lineno) if frames else "unknown place"
    message = "%s: %s (at %s)" % (kind, error, place)
    return {
        "kind": "unexpected",
        "message": message,
        "remedy": "Run `envdoctor check`; if it is clean, report this message.",
    }


def _finish(report: Dict[str, Any], path: Optional[Path], settings: Settings) -> int:
    error = report["error"]
    processes = report.get("processes") or {"rank": int(os.environ.get("RANK") or 0)}
    if processes["rank"] > 0:  # the first process speaks for all; others only tell what it cannot know
        if error and error["kind"] != "other-process":
            _say("process %d: %s\n       %s" % (processes["rank"], error["message"], error["remedy"]))
        return 1 if error else 130 if report["outcome"] == "interrupted" else 0
    if path is not None:
        try:
            orders.write_report(path, orders.as_json(report, settings))
        except TrainerError as problem:
            error = error or {"kind": problem.kind, "message": problem.message, "remedy": problem.remedy}
    if error:
        _say("error: %s\n       %s" % (error["message"], error["remedy"]))
        return 1
    if report["outcome"] == "interrupted":
        _say("interrupted; the same command continues from the last checkpoint")
        return 130
    summary = {key: report.get(key) for key in ("outcome", "steps", "seconds", "model_path")}
    print(json.dumps({**summary, "report": str(path) if path else None}))
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
