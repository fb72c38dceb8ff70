"""The tasks, each one file of this folder: a class of `trainer.tasks.task.Task`, found by the file's name.

What `--help` shows is read from the files' text, so that it answers without importing torch.
"""

from __future__ import annotations

import ast
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.errors import TrainerError

if TYPE_CHECKING:
    from trainer.tasks.task import Task


@dataclass(frozen=True)
class Listed:
    """A task as `--help` shows it: what the class's docstring and `example` say."""

    name: str
    title: str
    example: str


def names() -> list[str]:
    """Of every task there is."""
    folder = Path(__file__).parent
    return sorted(path.stem for path in folder.glob("*.py") if path.stem not in ("__init__", "task"))


def list_tasks() -> list[Listed]:
    """Every task, for people."""
    return [_read(name) for name in names()]


def load(name: str) -> Task:
    """The task of that name; TrainerError lists the tasks there are."""
    if name not in names():
        raise TrainerError("unknown-task", f"unknown task {name!r}", f"The tasks are {', '.join(names())}.")
    from trainer.tasks.task import Task

    module = importlib.import_module(f"{__name__}.{name}")
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Task)]
    (kind,) = (kind for kind in kinds if kind.__module__ == module.__name__)
    return kind()


def _read(name: str) -> Listed:
    tree = ast.parse(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8"))
    kind = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name.lower() == name)
    title = (ast.get_docstring(kind) or "").partition("\n\n")[0].rstrip(".").replace("\n", " ")
    examples = (
        node.value.value
        for node in kind.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "example"
        if isinstance(node.value, ast.Constant)
    )
    return Listed(name, title, str(next(examples)))
