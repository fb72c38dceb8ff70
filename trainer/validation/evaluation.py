"""An observer of the loop that judges the model now and then: the exact loss per trained token of held-out data, and
what the task scores beside it (retrieval accuracy, acceptance rate), which then decides what is best.

Every micro-batch's summed loss is gathered with its number and added up in that order, in float64: the figure is the
same for any number of processes. What was found stands in OUTPUT/evaluations.jsonl, from which a run that goes on
knows the best one and how long ago it was.
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any, Callable

import torch

from trainer.compute import oom
from trainer.data.counts import Counts
from trainer.data.source import Share
from trainer.measure.progress import open_to_continue
from trainer.state import Run
from trainer.validation import best, samples

Row = dict[str, Any]


class Evaluation:
    """Asked after every step; True ends the run (early stopping). `note` shows a line to people."""

    def __init__(self, run: Run, note: Callable[[str], None]) -> None:
        settings, self._folder, self._note = run.settings, Path(run.settings.output), note
        self._data, self._every = run.prepared.validation, settings.eval_every
        self._scores = run.prepared.scores
        self._data.fill = run.prepared.source.fill
        self._patience, self._keep = settings.early_stopping, settings.keep_best
        self._prompts = samples.prompts_of(settings, run.prepared.tokenizer)
        self.rows: list[Row] = run.group.gathered(self._known(run) if run.group.first else [])[0]

    @property
    def best(self) -> Row | None:
        """The row of the highest score, or the lowest loss where there is none or scores are equal; the earliest of
        equal ones; None before the first evaluation.
        """
        return min(self.rows, key=rank, default=None)

    @property
    def over(self) -> bool:
        """Has nothing been better for as many evaluations as early stopping waits?"""
        if not self._patience or self.best is None:
            return False
        return len(self.rows) - 1 - self.rows.index(self.best) >= self._patience

    def due(self, run: Run) -> bool:
        """Is the step just done one to judge after?"""
        if not len(self._data) and not self._prompts and self._scores is None:
            return False
        step = run.position.step
        regular: bool = run.position.index == 0 if not self._every else step % self._every == 0
        return regular or step == run.total_steps

    def __call__(self, counts: Counts, run: Run) -> bool:
        if not self.due(run):
            return False
        run.trainee.model.eval()
        try:
            with torch.no_grad():
                if len(self._data) or self._scores is not None:
                    self._judge(run)
                if self._prompts:
                    self._answer(run)
        finally:
            run.trainee.model.train()
        run.stopwatch.edge()  # this was no training
        if self.over:
            self._note(f"early stopping: nothing better in {self._patience} evaluations")
        return self.over

    def _judge(self, run: Run) -> None:
        begun, step = time.perf_counter(), run.position.step
        row: Row = {"step": step, "epoch": run.position.epoch}
        if len(self._data):
            row["eval_loss"], row["tokens"] = loss_of(run, self._data)
        row.update({} if self._scores is None else {"scores": self._scores(run)})
        row["seconds"] = round(time.perf_counter() - begun, 3)
        self.rows.append(row)
        lowest = self.best is row
        if run.group.first:
            with (self._folder / "evaluations.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
        if self._keep and lowest:
            best.keep(run, self._folder / "best", row)
        since = "the best so far" if lowest else f"best at step {self.best['step']}: {sentence(self.best)}"  # type: ignore[index,arg-type]
        self._note(f"step {step}: {sentence(row)} ({since})")

    def _answer(self, run: Run) -> None:
        fill = run.settings.tokens_per_row if run.prepared.source.fill else 0
        shown, ids = [text for text, _ in self._prompts], [found for _, found in self._prompts]
        found = samples.answers(run, ids, run.settings.sample_tokens, fill)
        texts = [run.prepared.tokenizer.decode(answer, skip_special_tokens=True) for answer in found]
        if run.group.first:
            samples.write(self._folder / "samples.jsonl", run.position.step, shown, texts)
        for prompt, text in zip(shown, texts):
            self._note(f"step {run.position.step}: {_short(prompt)} → {_short(text)}")

    def _known(self, run: Run) -> list[Row]:
        """Rows of the steps before; those of a run cut short, which are about to be judged again, are left out."""
        paths = [self._folder / name for name in ("evaluations.jsonl", "samples.jsonl")]
        for path in paths:
            if path.exists():
                open_to_continue(path, run.position.step).close()
        if not paths[0].exists():
            return []
        return [json.loads(line) for line in paths[0].read_text(encoding="utf-8").splitlines()]


def loss_of(run: Run, data: Any) -> tuple[float, int]:
    """(loss per trained token, trained tokens) of the held-out micro-batches; the same for any number of processes."""
    numbers, idle = Share(run.group.rank, run.group.world).of(range(len(data)))
    sums: list[tuple[int, torch.Tensor, int]] = []
    for place, number in enumerate(numbers):
        batch = data[number]
        total = torch.zeros((), device=run.trainee.device)
        for piece in oom.cut_batch(batch, run.slots_limit):
            moved = piece.to(run.trainee.device)
            total = total + run.group.compute(run.task.token_loss, run.trainee, moved, run.settings, 1.0)
        if not (idle and place == len(numbers) - 1):
            sums.append((number, total, batch.trained))
    mine = [(number, float(total), trained) for number, total, trained in sums]
    every = sorted(item for found in run.group.gathered(mine) for item in found)
    tokens = sum(trained for _, _, trained in every)
    return math.fsum(total for _, total, _ in every) / max(1, tokens), tokens


def rank(row: Row) -> tuple[Any, ...]:
    """The lower, the better."""
    scores: dict[str, float] = row.get("scores", {})
    return *(-value for value in scores.values()), row.get("eval_loss", 0.0), row["step"]


def sentence(row: Row) -> str:
    """What an evaluation found, for people."""
    parts = [f"{name.replace('_', ' ')} {100 * value:.1f} %" for name, value in row.get("scores", {}).items()]
    if "eval_loss" in row:
        parts.append(f"validation loss {row['eval_loss']:.4f} over {row['tokens']} tokens")
    return ", ".join(parts)


def _short(text: str, most: int = 100) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= most else line[: most - 1] + "…")
