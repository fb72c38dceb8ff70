"""What the training loop costs over a bare loop of the same arithmetic on the same rows, in one process.

    python -m tests.benchmarks.overhead --workload chat-5m [--blocks 12] [--steps 10] [--tokens-per-row 2048]

The bare loop gets its batches ready-made and does nothing but forward, loss, backward, clipping, fused AdamW and
zero_grad; no logs, no positions, no signals. Both loops do the same rows one after the other, in turns (AB, BA, ...),
so that each pair of blocks differs in nothing but the loop.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from trainer import loop
from trainer.data import feed
from trainer.data.counts import Counts
from trainer.data.feed import Position
from trainer.state import Run

from tests.benchmarks import side_ours
from tests.benchmarks.figures import spread

Cost = tuple[float, float]  # wall, CPU seconds


def bare(run: Run, adamw: Any, steps: list[Any]) -> Cost:
    """A plain loop over ready batches."""
    trainee = run.trainee
    parameters = run.stepper.parameters
    decoder, head = trainee.model.get_decoder(), trainee.head
    wall, cpu = time.perf_counter(), time.process_time()
    for batches in steps:
        weight = sum(batch.weight for batch in batches)
        for batch in batches:
            trainee.attention.enter(batch.lengths, batch.borders)  # type: ignore[union-attr]
            with trainee.computing():
                hidden = decoder(**batch.inputs, use_cache=False).last_hidden_state.flatten(0, 1)
                logits = F.linear(hidden[batch.positions], head)
                loss = F.cross_entropy(logits, batch.targets, reduction="sum") / weight
            loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, run.settings.clip_norm)
        adamw.step()
        adamw.zero_grad(set_to_none=True)
    return time.perf_counter() - wall, time.process_time() - cpu


def product(run: Run, steps: int) -> Cost:
    """`steps` steps of the real loop, from the end of one step to the end of another: the call itself is not timed."""
    marks: list[Cost] = []

    def observe(_: Counts, __: Run) -> bool:
        marks.append((time.perf_counter(), time.process_time()))
        return len(marks) > steps

    loop.train(run, [observe])
    return marks[-1][0] - marks[0][0], marks[-1][1] - marks[0][1]


def measured(order: dict[str, Any], blocks: int, steps: int) -> dict[str, Any]:
    """Costs of every block, and the ratio product / bare - 1 by both clocks with quartiles."""
    run, _ = side_ours.assembled(order)
    s = run.settings
    adamw = torch.optim.AdamW(
        run.stepper.parameters,
        lr=s.learning_rate,
        betas=(s.beta1, s.beta2),
        eps=s.epsilon,
        weight_decay=0.0,
        fused=True,
    )
    found: list[dict[str, Cost]] = []
    with run.trainee.held:
        product(run, 1)
        for block in range(blocks + 1):
            start = Position(run.position.step, run.position.epoch, run.position.index)
            rows = [item for _, (_, item) in zip(range(steps + 1), _ahead(run, start))][1:]
            costs: dict[str, Cost] = {}
            for name in ("product", "bare") if block % 2 == 0 else ("bare", "product"):
                if name == "product":
                    costs[name] = product(run, steps)
                else:
                    costs[name] = bare(run, adamw, rows)
            if block:  # the first pair warms up
                found.append(costs)
    result: dict[str, Any] = {"blocks": found, "steps": steps}
    for clock, place in (("wall", 0), ("cpu", 1)):
        result[clock] = spread([costs["product"][place] / costs["bare"][place] - 1 for costs in found])
    return result


def _ahead(run: Run, start: Position) -> Any:
    return feed.steps(run.prepared.source, start, run.epochs, False)


def main() -> None:
    """Measure one workload; print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", default="chat-5m")
    parser.add_argument("--model", help="folder with a model, instead of the workload's")
    parser.add_argument("--output", help="JSON file")
    for name, value in (("blocks", 12), ("steps", 10), ("tokens-per-row", 2048), ("threads", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "workload": given.workload, "tokens_per_row": given.tokens_per_row, "output": folder + "/run",
            "threads": given.threads, "cache": folder + "/cache", "model": given.model,
        }  # fmt: skip
        result = measured({"task": "sft", "settings": settings}, given.blocks, given.steps)
    for clock in ("wall", "cpu"):
        low, middle, high = (100 * part for part in result[clock])
        line = "%s: the loop costs %.2f %% over a bare one by %s time (quartiles %.2f to %.2f, %d pairs of %d steps)"
        print(line % (given.workload, middle, clock, low, high, given.blocks, given.steps), flush=True)
    if given.output:
        Path(given.output).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
