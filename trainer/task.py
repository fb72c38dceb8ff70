"""What a task is: how its data becomes steps, what it does to the model, and the loss of one micro-batch."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Protocol, cast

import torch

from trainer.batches import Source
from trainer.errors import TrainerError
from trainer.model import Trainee
from trainer.settings import Settings
from trainer.tasks import TASKS
from trainer.workloads import Workload


@dataclass(frozen=True)
class Prepared:
    """Data ready to train on. `identity` names content and plan: a checkpoint resumes only under the same one."""

    source: Source
    tokenizer: Any
    identity: str
    facts: Dict[str, Any] = field(default_factory=dict)


class Task(Protocol):
    """What a task module provides."""

    def prepare(self, settings: Settings, workload: Optional[Workload]) -> Prepared:
        """Read, tokenise and plan. TrainerError names the file and place of bad input."""

    def adapt(self, trainee: Trainee, settings: Settings) -> None:
        """Change the freshly built model before the optimizer sees it (adapters, frozen parts)."""

    def loss(self, trainee: Trainee, batch: Any, settings: Settings, scale: float) -> torch.Tensor:
        """`scale` x the summed loss of one micro-batch; the loop passes processes / (weights of the step's batches)."""


def load(name: str) -> Task:
    """The task module; TrainerError lists the tasks there are."""
    if name not in TASKS:
        raise TrainerError("unknown-task", "unknown task %r" % name, "The tasks are %s." % ", ".join(TASKS))
    return cast(Task, importlib.import_module(TASKS[name][0]))
