"""What a task is: how its data becomes steps, what it does to the model, and the loss of one micro-batch."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from trainer.data.source import Prepared
from trainer.data.workloads import Workload
from trainer.errors import TrainerError
from trainer.model import lora
from trainer.model.build import Trainee
from trainer.model.losses import all_logits_loss, token_loss
from trainer.options.settings import Settings


class Task:
    """A task in its file: a class with the file's name, whose docstring is its line in `--help`.

    example: a command to show. in_turn: several processes prepare one after the other. adapter_rank: of the adapters
    where lora_rank leaves it open; 0 trains every weight. plan_settings: those that decide the plan of the steps.
    """

    example: ClassVar[str]
    in_turn: ClassVar[bool] = False
    adapter_rank: ClassVar[int] = 0
    plan_settings: ClassVar[tuple[str, ...]] = ()

    def prepare(self, settings: Settings, workload: Workload | None) -> Prepared:
        """Read, tokenise and plan. TrainerError names the file and place of bad input."""
        raise NotImplementedError

    def adapt(self, trainee: Trainee, settings: Settings) -> None:
        """Change the freshly built model before the optimizer sees it: adapters, when they are asked for."""
        lora.add(trainee, settings, self.adapter_rank)

    def freezes(self, settings: Settings) -> bool:
        """Are only adapters trained?"""
        return lora.freezes(settings, self.adapter_rank)

    def loss(self, trainee: Trainee, batch: Any, settings: Settings, scale: float) -> torch.Tensor:
        """`scale` x the summed loss of one micro-batch, a float32 scalar: cross-entropy of the batch's targets.

        The loop passes processes / (weights of the step's batches) as `scale`.
        """
        return self.token_loss(trainee, batch, settings, scale)

    def token_loss(self, trainee: Trainee, batch: Any, settings: Settings, scale: float) -> torch.Tensor:
        """`scale` x the summed cross-entropy of one micro-batch's targets, a float32 scalar: what validation takes."""
        with trainee.computing():
            if settings.head == "all" or trainee.own_logits:
                return all_logits_loss(trainee.logits(batch), batch.positions, batch.targets, scale)
            hidden = trainee.hidden(batch)[batch.positions]
            return token_loss(hidden, trainee.head, batch.targets, scale, trainee.loss_pieces)

    def check_validation(self, settings: Settings) -> None:
        """TrainerError where nothing can be held out."""
        if not settings.pretokenize and (settings.eval_data or settings.eval_share):
            raise TrainerError(
                "bad-setting", "setting pretokenize=false: what is tokenised in the loop cannot be held out",
                "Set pretokenize=true for a validation loss.",
            )  # fmt: skip

    def planned_by(self, settings: Settings) -> tuple[str, ...]:
        """Names of the settings that decide the plan."""
        return self.plan_settings

    def identity(self, content: str, settings: Settings) -> str:
        """What a checkpoint of a run on data of this fingerprint resumes under."""
        return " ".join([content, *(f"{name}={getattr(settings, name)}" for name in self.planned_by(settings))])
