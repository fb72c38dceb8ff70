"""The question as it is asked, of names, words and paths: read, and answered."""

from __future__ import annotations

import os
from pathlib import Path

from envdoctor.errors import Trouble
from envdoctor.locks.library import load_targets, named_target
from envdoctor.models import fitting, prices, source
from envdoctor.models.fitting import Fit
from envdoctor.models.memory import Job
from envdoctor.speed.cost import Price

ADAPTERS = {"rft": fitting.RANK}  # a task's rank where none is named (``Task.adapter_rank`` of the trainer)


def rank_of(task: str, asked: int | None) -> int:
    """The rank of the task's adapters, 0 where every weight is trained; ``asked``: None for the task's own."""
    return ADAPTERS.get(task, 0) if asked is None else asked


def answer(
    model: str,
    job: Job,
    *,
    target: str | None = None,
    precision: str | None = None,
    steps: int | None = None,
    price: str | Price | None = None,
    price_list: str | os.PathLike[str] | None = None,
) -> Fit:
    """The model held against the target, or all of them. Raises `Trouble` for what cannot be read."""
    if job.rank and job.moments == "adafactor":
        raise Trouble(
            "Adafactor does not go with adapters", where="moments",
            remedy="Leave moments out: AdamW's of adapters are small; or train every weight (--lora-rank 0).",
        )  # fmt: skip
    targets = load_targets()
    asked = None if target is None else named_target(target, targets)[0]
    if price is not None and asked is None:
        raise Trouble(
            "which target costs that?", where="price", remedy="Name the target, or give a list of prices (--prices)."
        )
    known = {} if price_list is None else dict(prices.read(Path(price_list), targets))
    if price is not None and asked is not None:
        known[asked.name] = price if isinstance(price, Price) else Price.parse(price)
    every = tuple(targets[name] for name in targets)
    return fitting.fit(source.read(model), job, every, asked=asked, precision=precision, steps=steps, prices=known)
