"""One side of a comparison: this trainer, run as its command line runs it, but in turns."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Dict, List, Mapping, Tuple, cast

import torch

from trainer import flags, flops, loop, save, workloads
from trainer import run as runs
from trainer import task as tasks
from trainer.batches import Batch, PackedSource, packed
from trainer.benchmarks.achievable import achievable
from trainer.benchmarks.turns import Turns
from trainer.contention import peak_rss
from trainer.history import History
from trainer.measure import Counts, Stopwatch
from trainer.model import build
from trainer.optimizer import Stepper
from trainer.settings import from_mapping


class InOrder(PackedSource):
    """Steps of `size` examples as they come, packed into one row: what plain trainers get as a batch."""

    def __init__(self, tokens: Any, size: int) -> None:
        self.tokens, self.size = tokens, size

    def steps_in(self, epoch: int) -> int:
        return -(-len(self.tokens) // self.size)

    def step(self, epoch: int, index: int) -> List[Batch]:
        rows = range(index * self.size, min(len(self.tokens), (index + 1) * self.size))
        return [packed([self.tokens.example(row) for row in rows])]


def assembled(order: Mapping[str, Any]) -> Tuple[loop.Run, flops.Work]:
    """A run ready for `loop.train`, put together as `trainer.run` does; what one model pass costs."""
    settings = from_mapping(order["settings"], "benchmark", order.get("preset", "default"), order["task"])
    workload = workloads.find(settings.workload) if settings.workload else None
    flags.apply(torch, order.get("flags", {}))
    job = tasks.load(order["task"])
    prepared = job.prepare(settings, workload)
    if order.get("same_batches"):
        tokens = cast(PackedSource, prepared.source).tokens
        prepared = replace(prepared, source=InOrder(tokens, int(order["same_batches"])))
    trainee = build(settings, workload)
    job.adapt(trainee, settings)
    stepper = Stepper(trainee.model, trainee.device, settings, half=trainee.dtype == torch.float16)
    steps = prepared.source.steps_in(0)
    run = loop.Run(
        settings=settings, task=job, trainee=trainee, prepared=prepared, stepper=stepper,
        history=History(settings.max_bad_steps), stopwatch=Stopwatch(trainee.device),
        total_steps=max(steps, settings.max_steps), epochs=runs.FOREVER,
    )  # fmt: skip
    if settings.checkpoint_every:
        folder = Path(settings.output) / "checkpoints"
        run.saver = save.Saver(folder, settings.keep_checkpoints, settings.checkpoint_blocking)
    return run, flops.work_of(trainee.model)


def main(path: str) -> None:
    """Train in turns as the order in the file `path` says."""
    order = json.loads(Path(path).read_text(encoding="utf-8"))
    begun = time.perf_counter()
    run, work = assembled(order)
    facts: Dict[str, Any] = {
        "versions": runs.versions(), "choices": {c.what: c.value for c in [*run.trainee.choices, run.stepper.choice]},
        "parameters": sum(p.numel() for p in run.trainee.model.parameters()),
        "work": [work.per_token, work.per_trained, work.per_square], "built_seconds": time.perf_counter() - begun,
        "achievable_before": achievable() if order.get("probe") else None,
    }  # fmt: skip
    turns = Turns(order, facts)
    if run.saver:
        turns.settle = run.saver.wait
    done: List[float] = []

    def observe(counts: Counts, _: loop.Run) -> bool:
        done.append(float(counts.real))
        return turns.step(**asdict(counts))

    with run.trainee.held:
        loop.train(run, [observe])
    turns.end(
        {
            "losses": run.history.losses,
            "tokens": done,
            "achievable_after": achievable() if order.get("probe") else None,
            "peak_rss": peak_rss(),
        }
    )


if __name__ == "__main__":
    main(sys.argv[1])
