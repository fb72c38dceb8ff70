"""One run in memory: what it is made of, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Protocol

import torch

from trainer.compute.optimizer import Stepper
from trainer.compute.parallel import Group
from trainer.data.counts import Counts
from trainer.data.feed import Position
from trainer.data.source import Prepared
from trainer.measure.history import History
from trainer.measure.measurement import Stopwatch
from trainer.model.build import Trainee
from trainer.options.settings import Settings

# file stem -> name -> tensor, each of its own shape: "model" and "optimizer" hold whole tensors of their parameters'
# shapes, "random" the generators' states (bytes,), "gradients" what `Gradients` is.
Tensors = dict[str, dict[str, torch.Tensor]]
# Of a step cut short: by name of the parameter and of its shape, and "loss so far", a float32 scalar.
Gradients = dict[str, torch.Tensor]


class Objective(Protocol):
    """What the loop needs of a task (`trainer.tasks.task.Task`)."""

    def loss(self, trainee: Trainee, batch: Any, settings: Settings, scale: float) -> torch.Tensor:
        """`scale` x the summed loss of one micro-batch, a scalar."""

    def token_loss(self, trainee: Trainee, batch: Any, settings: Settings, scale: float) -> torch.Tensor:
        """`scale` x the summed cross-entropy of one micro-batch's targets, a scalar."""


class Checkpoints(Protocol):
    """Where checkpoints go (`trainer.checkpoints.save.Saver`)."""

    def save(self, name: str, tensors: Tensors, state: dict[str, Any], part: Any = None) -> None:
        """Copy now, write now or later. `tensors`: of any shapes. part: of what all processes write."""

    def before_change(self) -> None:
        """Weights and states are about to change."""

    def wait(self) -> None:
        """Until everything is written; raises what went wrong."""


@dataclass
class Run:
    """One training run. `position` is always the next thing to do; `interrupted` says that a signal ended it."""

    settings: Settings
    task: Objective
    trainee: Trainee
    prepared: Prepared
    stepper: Stepper
    stopwatch: Stopwatch
    history: History
    total_steps: int
    group: Group = field(default_factory=Group)
    saver: Checkpoints | None = None
    position: Position = field(default_factory=Position)
    epochs: int = 1
    interrupted: bool = False
    tokens: int = 0  # real tokens trained on, over all resumptions
    slots_limit: int = 0  # of what is computed at once, since memory ran out; 0: whole micro-batches
    say: Callable[[str], None] = print


Observer = Callable[[Counts, Run], bool]  # told after each step; True ends the run
