"""What is known of one option beside its type: its help, its range, who has it, and whether it changes the result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import Field, field
from typing import Any

COUNTS = re.compile(r"[1-9]\d*|\d+\+[1-9]\d*")  # so many, or so many in two ways
AUTO = "auto"  # a text that every option takes whose default is decided by the run


def option(
    default: Any,
    help: str,  # noqa: A002 - argparse's own word
    choices: tuple[str, ...] = (),
    least: float | None = None,
    *,
    most: float | None = None,
    tasks: tuple[str, ...] = (),
    rare: bool = False,
    result: bool = True,
    shown: str = "",
    counted: bool = False,
) -> Any:
    """A field of an option group.

    least, most: of a number. tasks: those that have it; () is all. rare: shown by `--help-all` only. result: another
    value gives another model, so that a run does not go on under it. shown: what stands for the default in `--help`,
    for one that the run decides. counted: numbers as `COUNTS` has them are values, too, beside `choices`.
    """
    metadata = {
        "help": help, "choices": choices, "least": least, "most": most, "tasks": tasks, "rare": rare, "result": result,
        "shown": shown, "counted": counted,
    }  # fmt: skip
    return field(default=default, metadata=metadata)


def belongs_to(item: Field[Any], task: str | None) -> bool:
    """Does the task (None: any) have this option?"""
    owners: tuple[str, ...] = item.metadata["tasks"]
    return task is None or not owners or task in owners


def is_decided(item: Field[Any], value: Any) -> bool:
    """Does this value leave the option to the run?"""
    metadata: Mapping[str, Any] = item.metadata
    return bool(metadata["shown"]) and value == item.default
