"""The tools: what they are called with, what they answer, and the command line each comes to.

Arguments reach the command line as ``--option=value``, so that no value is taken for another option.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from envdoctor.values.frozen import frozen

SCHEMAS = Path(__file__).resolve().parents[1] / "schemas"
TEXT_LIMIT = 1_000_000  # characters of a pasted report
SECONDS_LIMIT = 3600  # of a verify

_END = r"(?![\s\S])"  # `$` lets a newline pass in Python, and JavaScript has no `\Z`
_ENV = {
    "type": "string",
    "minLength": 1,
    "maxLength": 4096,
    "pattern": rf"^[^\x00-\x1f\x7f]+{_END}",
    "description": "Folder of a venv or a conda environment. Default: the one that the server was started for.",
}
_NAME = {"type": "string", "pattern": rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}{_END}"}
_TARGET = {**_NAME, "description": "A GPU (h100, a100, cpu, ...); auto: the GPU found. Default: auto."}
_STACK = {**_NAME, "description": "A stack of the target's instead of the first that the machine can run."}
_PLACE = {"env": _ENV, "target": _TARGET, "stack": _STACK}


@frozen
class AssistantTool:
    """One tool. ``words`` makes the command line of its arguments; ``text`` names the argument that is handed over as
    a file, whose path is appended."""

    name: str
    description: str
    properties: Mapping[str, Any]
    words: Callable[[Mapping[str, Any]], tuple[str, ...]]
    required: tuple[str, ...] = ()
    schema: str | None = None  # of envdoctor/schemas, which its document keeps to; None: it answers text
    deadline: float = 300.0  # seconds
    text: str | None = None
    changes: bool = False  # offered with --allow-changes only
    alone: bool = False  # no other of these at the same time: they would disturb each other

    @property
    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The published schema; assistants of before 2026 want the word ``object`` at its top."""
        if self.schema is None:
            return None
        return {**json.loads((SCHEMAS / f"{self.schema}.json").read_text("utf-8")), "type": "object"}


def _options(given: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    return tuple(f"--{name}={given[name]}" for name in names if name in given)


def _fix(given: Mapping[str, Any], *more: str) -> tuple[str, ...]:
    exact = ("--exact",) if given.get("exact") else ()
    return ("fix", "--format=json", *more, *exact, *_options(given, "env", "target", "stack", "plan"))


_EXACT = {"exact": {"type": "boolean", "description": "Remove packages that are not in the lock. Default: keep."}}

TOOLS = (
    AssistantTool(
        name="check",
        description="Examine a Python environment for GPU training and judge it against the lockfile of its "
        "GPU: versions, torch build, driver, settings, variables, limits. Names the root cause and what to do. Changes "
        "nothing.",
        properties={
            **_PLACE,
            "torch": {"type": "boolean", "description": "Import its torch, in a child. False is faster, judges less."},
        },
        words=lambda given: (
            *("check", "--format=json", *_options(given, "env", "target", "stack")),
            *(() if given.get("torch", True) else ("--no-torch",)),
        ),
        schema="check",
    ),
    AssistantTool(
        name="diagnose",
        description="Read a report or error text that somebody pasted (collect_env, accelerate env, ds_report, "
        "nvidia-smi, pip list, a traceback) and name its root cause. Nothing of this machine is looked at.",
        properties={
            "text": {"type": "string", "minLength": 1, "maxLength": TEXT_LIMIT},
            "target": {**_NAME, "description": "Hold it against a GPU's lockfile too."},
        },
        required=("text",),
        words=lambda given: ("diagnose", "--format=json", *_options(given, "target")),
        schema="check",
        deadline=60.0,
        text="text",
    ),
    AssistantTool(
        name="explain",
        description="What a rule looks for, what it costs when it is broken, how to mend it and how that is known. "
        "Rules are named in findings.",
        properties={"rule": {"type": "string", "pattern": rf"^[a-z0-9][a-z0-9/_-]{{0,99}}{_END}"}},
        required=("rule",),
        words=lambda given: ("explain", "--", given["rule"]),
        deadline=60.0,
    ),
    AssistantTool(
        name="plan",
        description="What `fix` would change in an environment, package by package, and the plan's name. A dry run: "
        "nothing is changed.",
        properties={**_PLACE, **_EXACT},
        words=lambda given: _fix(given, "--dry-run"),
        schema="fix",
        deadline=600.0,
    ),
    AssistantTool(
        name="fit",
        description="Estimate whether training a language model fits a GPU: memory of a step by part, the largest "
        "micro-batch at each rung of recomputation, the expected time with its spread, and one row for each GPU. Reads "
        "a config.json (of a folder, or from the Hub) and the headers of the model's files; trains nothing.",
        properties={
            "model": {
                "type": "string",
                "minLength": 1,
                "maxLength": 4096,
                "pattern": rf"^[^\x00-\x1f\x7f]+{_END}",
                "description": "A folder with a config.json, a config.json, or a name on the Hub (owner/name).",
            },
            "target": {**_NAME, "description": "Judge this GPU (h100, rtx4090, ...). Default: list all."},
            "task": {"enum": ["sft", "pretrain", "rft"], "description": "Default: sft."},
            "lora_rank": {"type": "integer", "minimum": 0, "maximum": 1024, "description": "0: train every weight."},
            "tokens": {"type": "integer", "minimum": 2, "maximum": 1 << 24, "description": "Of one micro-batch."},
            "moments": {
                "enum": ["float32", "8bit", "adafactor"],
                "description": "AdamW's, or Adafactor. Default: float32.",
            },
            "accumulate": {"type": "integer", "minimum": 1, "maximum": 100_000},
            "precision": {"enum": ["float32", "bfloat16", "float16"]},
            "steps": {"type": "integer", "minimum": 1, "maximum": 10**9, "description": "Of the run: gives its time."},
            "price": {
                "type": "string",
                "pattern": rf"^[^\x00-\x1f\x7f-][^\x00-\x1f\x7f]{{0,39}}{_END}",
                "description": 'Of an hour on the target: "2.49/h", "$2.49/h", "2.49 EUR/h".',
            },
        },
        required=("model",),
        words=lambda given: (
            *("fit", "--format=json"),
            *_options(
                given, "model", "target", "task", "moments", "tokens", "accumulate", "precision", "steps", "price"
            ),
            *((f"--lora-rank={given['lora_rank']}",) if "lora_rank" in given else ()),
        ),
        schema="fit",
        deadline=120.0,
    ),
    AssistantTool(
        name="verify",
        description="Train a short workload in fresh processes (minutes of full load) and judge its speed against the "
        "target's baseline. `limit_seconds` ends it; progress is reported on the way.",
        properties={
            **_PLACE,
            "limit_seconds": {"type": "integer", "minimum": 1, "maximum": SECONDS_LIMIT},
            "processes": {"type": "integer", "minimum": 1, "maximum": 3, "description": "Fresh processes at most."},
        },
        required=("limit_seconds",),
        words=lambda given: ("verify", "--format=json", *_options(given, "env", "target", "stack", "processes")),
        schema="verify",
        deadline=SECONDS_LIMIT,
        alone=True,
    ),
    AssistantTool(
        name="fix",
        description="Carry out a plan in one atomic step that can be undone (envdoctor undo). `plan` is the name that "
        "the tool `plan` gave, after the user has agreed to it; if the plan is another by now, nothing is changed.",
        properties={**_PLACE, **_EXACT, "plan": {"type": "string", "pattern": rf"^[0-9a-f]{{32}}{_END}"}},
        required=("plan",),
        words=lambda given: _fix(given, "--yes"),
        schema="fix",
        deadline=SECONDS_LIMIT,
        changes=True,
        alone=True,
    ),
)


def tools_by_name(*, changes: bool) -> dict[str, AssistantTool]:
    """The tools of a server, by name."""
    return {tool.name: tool for tool in TOOLS if changes or not tool.changes}
