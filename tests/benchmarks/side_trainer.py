"""A trainer of transformers' kind, another library's, in turns: its steps are counted, nothing of it is replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any

from tests.benchmarks.turns import Turns

Counts = dict[str, float]
Count = Callable[[list[dict[str, Any]], Any], Counts]  # (features, their batch) -> what is in it


class Counting:
    """A collator that notes what is in each batch before it hands it on, and is the collator in all else."""

    def __init__(self, collate: Any, count: Count, batches: list[Counts]) -> None:
        self.collate, self.count, self.batches = collate, count, batches

    def __getattr__(self, name: str) -> Any:
        return getattr(self.collate, name)

    def __call__(self, features: list[dict[str, Any]]) -> Any:
        batch = self.collate(features)
        self.batches.append(self.count(features, batch))
        return batch


def train(order: Mapping[str, Any], trainer: Any, libraries: Sequence[str], count: Count) -> None:
    """Train until the other end has heard enough; it also gets the losses and tokens of every step."""
    from transformers import TrainerCallback

    batches: list[Counts] = []
    losses: list[Any] = []
    names = ("torch", "transformers", *libraries)
    turns = Turns(order, {"versions": {name: metadata.version(name) for name in names}})
    trainer.data_collator = Counting(trainer.data_collator, count, batches)
    train_step = trainer.training_step

    def noted(*given: Any, **named: Any) -> Any:
        losses.append(train_step(*given, **named))
        return losses[-1]

    trainer.training_step = noted

    class InTurns(TrainerCallback):  # type: ignore[misc,unused-ignore]
        def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> Any:
            control.should_training_stop = turns.step(**batches[state.global_step - 1])
            return control

    trainer.add_callback(InTurns())
    trainer.train()
    done = [batch["real"] for batch in batches[: len(losses)]]
    turns.end({"losses": [float(loss) for loss in losses], "tokens": done})
