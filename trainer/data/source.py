"""Where the steps of a run come from, and whose part of each step is whose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, Protocol

from trainer.data.fasttokenizer import Tokenizer


@dataclass(frozen=True)
class Share:
    """The part of every step that one of `world` processes computes."""

    rank: int = 0
    world: int = 1

    def of(self, items: Sequence[Any]) -> tuple[list[Any], bool]:
        """This process's items, as many as every other process has; whether the last of them is only there for that.

        Wrappers that exchange data in every pass need equally many.
        """
        mine = list(items[self.rank :: self.world])
        short = len(mine) < -(-len(items) // self.world)
        return ([*mine, items[0]], True) if short else (mine, False)


class Source(Protocol):
    """Where steps come from. Both answers depend on the arguments alone.

    `share`: whose part `step` gives; a step of n processes has n times the micro-batches of one. `fill`: rows of one
    width, as compiled code wants. Both are set before the first step. `in_order`: only the next step is cheap to make.
    """

    share: Share
    fill: bool
    in_order: bool

    def steps_in(self, epoch: int) -> int:
        """Optimizer steps of that epoch."""

    def step(self, epoch: int, index: int) -> Sequence[Any]:
        """The micro-batches of one step, on the host."""


class Validation(Protocol):
    """Micro-batches of data that is not trained on (`trainer.data.heldout`)."""

    fill: bool

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, number: int) -> Any:
        """One of them, on the host; always the same."""


class NoValidation:
    """Nothing is held out."""

    fill = False

    def __len__(self) -> int:
        return 0

    def __getitem__(self, number: int) -> Any:
        raise IndexError(number)


@dataclass(frozen=True)
class Prepared:
    """Data ready to train on. `identity` names content and plan: a checkpoint resumes only under the same one.

    scores: of the model of a run (`trainer.state.Run`) on what is held out, beside its loss: by name, higher is better.
    """

    source: Source
    tokenizer: Tokenizer
    identity: str
    facts: dict[str, Any] = field(default_factory=dict)
    validation: Validation = field(default_factory=lambda: NoValidation())
    scores: Callable[[Any], dict[str, float]] | None = None
