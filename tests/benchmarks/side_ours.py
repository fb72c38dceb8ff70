"""One side of a comparison: this trainer, run as its command line runs it, but in turns."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import torch
from trainer import flags, loop, tasks
from trainer.checkpoints import save
from trainer.compute import flops, hostmemory, process
from trainer.compute.optimizer import Stepper
from trainer.compute.process import peak_rss
from trainer.data import workloads
from trainer.data.batches import Batch, PackedSource, pack
from trainer.data.counts import Counts
from trainer.measure.history import History
from trainer.measure.measurement import Stopwatch
from trainer.model.build import build
from trainer.model.fitting import settle
from trainer.options import defaults
from trainer.options.settings import from_mapping
from trainer.state import Run

from tests.benchmarks.achievable import achievable
from tests.benchmarks.turns import Turns


class InOrder(PackedSource):
    """Steps of `size` examples as they come, packed into one row: what plain trainers get as a batch."""

    def __init__(self, tokens: Any, size: int) -> None:
        self.tokens, self.size = tokens, size

    def steps_in(self, epoch: int) -> int:
        return -(-len(self.tokens) // self.size)

    def step(self, epoch: int, index: int) -> list[Batch]:
        rows = range(index * self.size, min(len(self.tokens), (index + 1) * self.size))
        return [pack([self.tokens.example(row) for row in rows])]


def assembled(order: Mapping[str, Any]) -> tuple[Run, flops.ModelWork]:
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
    settings, _ = settle(settings, trainee, prepared, lambda _: None)
    stepper = Stepper(trainee.model, trainee.device, settings, half=trainee.dtype == torch.float16)
    steps = prepared.source.steps_in(0)
    run = Run(
        settings=settings, task=job, trainee=trainee, prepared=prepared, stepper=stepper,
        history=History(settings.max_bad_steps), stopwatch=Stopwatch(trainee.device),
        total_steps=max(steps, settings.max_steps), epochs=defaults.WITHOUT_END,
    )  # fmt: skip
    if settings.checkpoint_every:
        folder = Path(settings.output) / "checkpoints"
        run.saver = save.Saver(folder, settings.keep_checkpoints, settings.checkpoint_blocking)
    return run, flops.work_of(trainee.model)


def freed_memory(run: Run) -> str:
    """What becomes of it from now on: "kept", as `trainer.model.fitting` does where memory is ample, as it is here."""
    return "kept" if run.settings.freed_memory == "auto" and hostmemory.keep() else "given back"


def main(path: str) -> None:
    """Train in turns as the order in the file `path` says."""
    order = json.loads(Path(path).read_text(encoding="utf-8"))
    begun = time.perf_counter()
    run, work = assembled(order)
    freed = freed_memory(run)
    facts: dict[str, Any] = {
        "versions": process.versions(),
        "choices": {c.what: c.value for c in [*run.trainee.choices, run.stepper.choice]}, "freed_memory": freed,
        "parameters": sum(p.numel() for p in run.trainee.model.parameters()),
        "work": [work.per_token, work.per_trained, work.per_square], "built_seconds": time.perf_counter() - begun,
        "achievable_before": achievable() if order.get("probe") else None,
    }  # fmt: skip
    turns = Turns(order, facts)
    if run.saver:
        turns.settle = run.saver.wait
    done: list[float] = []

    def observe(counts: Counts, _: Run) -> bool:
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
