"""What of the trainer's CPU time is its own, and what it costs over a bare loop of the same objects on the same rows.

    python -m tests.benchmarks.overhead [--workloads chat-5m chat-30m chat-135m] [--output FILE]
    python -m tests.benchmarks.overhead --show tests/benchmarks/recorded/overhead.json

Two answers of one process. By part: the clock is read where the loop hands over to forward and loss, to the backward
pass and to the optimizer, and what lies between is its own: batches, clipping, logs, positions, signals, what asks
whether a checkpoint is due. By difference: a bare loop gets the same batches ready-made and does nothing but call the
same loss, backward pass and optimizer; both loops do the same rows one after the other, in turns (AB, BA, ...). Clocks
are CPU seconds of the process, which has one thread: with more, those that wait for the others spin, and a busy machine
makes that most of what the clock says.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import torch
from trainer import loop
from trainer.checkpoints import save
from trainer.compute import flops, process
from trainer.data import feed
from trainer.data.counts import Counts
from trainer.data.feed import Position
from trainer.measure import progress
from trainer.measure.watching import Tally
from trainer.state import Run

from tests.benchmarks import machine, side_ours
from tests.benchmarks.figures import spread

ASKED = ("forward and loss", "backward", "optimizer")
OWN = ("batches", "clipping", "logs and the rest")
# Blocks of each loop and steps of a block, so that a size takes some minutes.
SIZES = {"chat-5m": (12, 10), "chat-30m": (8, 3), "chat-135m": (2, 1)}


class Clock:
    """CPU seconds by part, each instant to one: that of what is called, else that of the loop around it."""

    def __init__(self) -> None:
        self.parts = dict.fromkeys((*ASKED, *OWN), 0.0)
        self.around = OWN[-1]
        self._last = time.process_time()

    def start(self) -> None:
        """What was until now is nobody's."""
        self.parts = dict.fromkeys(self.parts, 0.0)
        self._last = time.process_time()

    def edge(self, part: str) -> None:
        """From the edge before until now it was `part`."""
        now = time.process_time()
        self.parts[part] += now - self._last
        self._last = now

    def calling(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, whose time is of `part`."""

        def called(*args: Any, **kwargs: Any) -> Any:
            self.edge(self.around)
            found = function(*args, **kwargs)
            self.edge(part)
            if part == ASKED[0]:
                self.around = OWN[-1]  # this step's batches are there
            return found

        return called

    def within(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, of whose time what it does not call is of `part`."""

        def called(*args: Any, **kwargs: Any) -> Any:
            self.edge(self.around)
            before, self.around = self.around, part
            try:
                return function(*args, **kwargs)
            finally:
                self.edge(part)
                self.around = before

        return called


class Timed:
    """A task whose loss is timed; the rest is its own."""

    def __init__(self, task: Any, clock: Clock) -> None:
        self._task = task
        self.loss = clock.calling(ASKED[0], task.loss)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)


@contextlib.contextmanager
def clocked(run: Run, clock: Clock) -> Iterator[None]:
    """The run's loss, backward passes, optimizer and clipping tell the clock."""
    stepper, optimizer, backward = run.stepper, run.stepper.optimizer, torch.Tensor.backward
    before = (run.task, stepper.step)
    run.task = Timed(run.task, clock)
    torch.Tensor.backward = clock.calling(ASKED[1], backward)  # type: ignore[method-assign]
    for name in ("step", "zero_grad"):
        setattr(optimizer, name, clock.calling(ASKED[2], getattr(optimizer, name)))
    stepper.step = clock.within(OWN[1], stepper.step)  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.Tensor.backward = backward  # type: ignore[method-assign]
        run.task, stepper.step = before  # type: ignore[method-assign]
        for name in ("step", "zero_grad"):
            delattr(optimizer, name)


def bare(run: Run, steps: list[Any]) -> float:
    """CPU seconds of a plain loop over ready batches, with the run's own loss and optimizer, and no clipping."""
    optimizer: Any = run.stepper.optimizer
    optimizer.grad_scale = optimizer.found_inf = None
    begun = time.process_time()
    for batches in steps:
        weight = sum(batch.weight for batch in batches)
        for batch in batches:
            run.task.loss(run.trainee, batch, run.settings, 1.0 / weight).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return time.process_time() - begun


def product(run: Run, steps: int, clock: Clock, work: flops.ModelWork) -> tuple[float, dict[str, float]]:
    """CPU seconds of `steps` steps of the real loop with its logs, from the end of a step to the end of another, and
    by part. The call itself is not timed, nor the checkpoint at its end.
    """
    marks: list[float] = []

    def observe(_: Counts, now: Run) -> bool:
        clock.edge(OWN[-1])
        clock.around = OWN[0]
        if not marks:
            clock.start()
        marks.append(time.process_time())
        if len(marks) > steps:
            now.saver = None
        return len(marks) > steps

    run.saver = save.Saver(Path(run.settings.output) / "checkpoints", 2, False)
    with contextlib.redirect_stderr(io.StringIO()), progress.show_progress(run, work) as log:
        loop.train(run, [log, Tally(), observe])
    return marks[-1] - marks[0], dict(clock.parts)


def measured(order: dict[str, Any], blocks: int, steps: int) -> dict[str, Any]:
    """Costs of every pair of blocks, and with quartiles: the share of each part, of all own ones, and product / bare
    - 1.
    """
    run, work = side_ours.assembled(order)
    freed = side_ours.freed_memory(run)
    clock, found = Clock(), []
    with run.trainee.held:
        for block in range(blocks + 1):
            start = Position(run.position.step, run.position.epoch, run.position.index)
            ahead = feed.steps(run.prepared.source, start, run.epochs, False)
            rows = [item for _, (_, item) in zip(range(steps + 1), ahead)][1:]
            pair: dict[str, Any] = {}
            for name in ("product", "bare") if block % 2 == 0 else ("bare", "product"):
                if name == "bare":
                    pair[name] = bare(run, rows)
                else:
                    with clocked(run, clock):
                        pair[name], pair["parts"] = product(run, steps, clock, work)
            if block:  # the first pair warms up
                found.append(pair)
    shares = {part: spread([pair["parts"][part] / pair["product"] for pair in found]) for part in (*ASKED, *OWN)}
    return {
        "steps": steps, "threads": torch.get_num_threads(), "freed_memory": freed, "blocks": found, "shares": shares,
        "choices": {choice.what: choice.value for choice in [*run.trainee.choices, run.stepper.choice]},
        "own": spread([sum(pair["parts"][part] for part in OWN) / pair["product"] for pair in found]),
        "over bare": spread([pair["product"] / pair["bare"] - 1 for pair in found]),
    }  # fmt: skip


def table(record: dict[str, Any]) -> str:
    """Markdown, from the record alone."""
    head = ["CPU time of a step", *ASKED, *OWN, "own, all of it", "over a bare loop"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, found in record["workloads"].items():
        cells = [f"{found['shares'][part][1]:.1%}" for part in ASKED]
        cells += [f"{found['shares'][part][1]:.2%}" for part in OWN]
        for low, middle, high in (found["own"], found["over bare"]):
            cells.append(f"{middle:.2%} ({low:.2%} to {high:.2%})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, keep, show."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", nargs="+", default=list(SIZES))
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "recorded" / "overhead.json")
    parser.add_argument("--show", type=Path)
    parser.add_argument("--data", nargs="*", help="files of chats instead of the bundled ones")
    for name, value in (("blocks", 0), ("steps", 0), ("tokens-per-row", 2048), ("threads", 1)):
        parser.add_argument("--" + name, type=int, default=value)
    given = parser.parse_args()
    if given.show:
        print(table(json.loads(given.show.read_text("utf-8"))))
        return
    record: dict[str, Any] = {
        "machine": machine.described(), "versions": process.versions(), "tokens_per_row": given.tokens_per_row,
        "workloads": {},
    }  # fmt: skip
    for name in given.workloads:
        blocks, steps = SIZES.get(name, SIZES["chat-30m"])
        with tempfile.TemporaryDirectory() as folder:
            settings = {
                "workload": name, "tokens_per_row": given.tokens_per_row, "output": folder + "/run",
                "threads": given.threads, "cache": folder + "/cache", "data": given.data or [],
            }  # fmt: skip
            order = {"task": "sft", "settings": settings}
            record["workloads"][name] = measured(order, given.blocks or blocks, given.steps or steps)
        given.output.write_text(json.dumps(record) + "\n", "utf-8")
    print(table(record))


if __name__ == "__main__":
    main()
