"""The progress bar on stderr and one JSON line per log in the run folder; on a pipe, plain lines instead of a bar."""

from __future__ import annotations

import json
import math
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, TextIO

import torch

from trainer.compute.flops import ModelWork
from trainer.compute.process import peak_rss
from trainer.data import whole
from trainer.data.counts import Counts
from trainer.measure.trackers import Tracker
from trainer.options.settings import Settings
from trainer.report import Choice

BAR = 12  # characters of the bar
REDRAWN = 0.1  # seconds between two drawings of it


def _never(run: Any) -> bool:  # noqa: ARG001 - what nobody asks for besides `log_every`
    return False


@contextmanager
def show_progress(run: Any, work: ModelWork, also_due: Callable[[Any], bool] = _never) -> Iterator[Progress | Reader]:
    """The observer that logs a run (`trainer.state.Run`): the bar in the first process, no more than reading the losses
    in the others. Closed at the end; the last step is logged if the run came to one.

    also_due: whether the step just done is logged although `log_every` does not ask for it.
    """
    log: Progress | Reader = Reader(run.settings.log_every, also_due)
    if run.group.first:
        tracker = Tracker(run.settings) if run.settings.tracker != "none" else None
        peak = run.settings.peak_tflops * 1e12 * run.group.world
        if not peak and run.trainee.device.type == "cuda":
            run.trainee.choices.append(Choice("mfu", "left out", "no peak_tflops is given"))
        log = Progress(run, work, peak or None, tracker, also_due)
    else:
        run.stopwatch.on = False
    try:
        yield log
        log.last(run)
    finally:
        log.close()


class Reader:
    """What every process does at each log: read the losses, so that all stop at the same bad one."""

    def __init__(self, every: int, also_due: Callable[[Any], bool] = _never) -> None:
        self._every, self._also_due = every, also_due
        self._steps = 0  # since the last log
        self._begun = False

    def __call__(self, counts: Counts, run: Any) -> bool:
        self._steps += 1
        step = run.position.step
        if step % self._every == 0 or not self._begun or step == run.total_steps or self._also_due(run):
            self._begun = True
            self.log(run)
            self._steps = 0
        return False

    def last(self, run: Any) -> None:
        """The run has ended: log its last steps, if they are not yet."""
        if self._steps:
            self.log(run)
            self._steps = 0

    def log(self, run: Any) -> None:
        """The row of the steps since the last one."""
        run.history.read()

    def note(self, text: str) -> None:
        """A line for people that stays; the first process shows it."""

    def close(self) -> None:
        """There is nothing to end."""


class Progress(Reader):
    """Logs to metrics.jsonl, and to the terminal; reads the stopwatch at every log.

    A row's loss is that of its own step: the stopwatch has waited for the device, so that reading it costs nothing.
    """

    def __init__(
        self, run: Any, work: ModelWork, peak: float | None, tracker: Any = None,
        also_due: Callable[[Any], bool] = _never,
    ) -> None:  # fmt: skip
        settings: Settings = run.settings
        super().__init__(settings.log_every, also_due)
        folder = Path(settings.output)
        folder.mkdir(parents=True, exist_ok=True)
        self._file = open_to_continue(folder / "metrics.jsonl", run.position.step)
        self._work, self._peak, self._stopwatch = work, peak, run.stopwatch
        self._counts, self._read = Counts(), 0
        self._price, self._tracker, self._begun_at = settings.price_per_hour / 3600, tracker, time.perf_counter()
        self._line = TerminalLine(sys.stderr)
        self._row: dict[str, Any] = {}
        self._first = run.position.step

    def __call__(self, counts: Counts, run: Any) -> bool:
        self._counts += counts
        super().__call__(counts, run)
        if self._line.is_bar and self._steps:  # between two logs: the step, and what the last log told
            done = run.position.step
            pace = (done - self._first) / max(1e-9, time.perf_counter() - self._begun_at)
            left = {"step": done, "steps_per_second": pace, "eta_seconds": (run.total_steps - done) / pace}
            self._line.show(share(left, run), words({**self._row, **left}, run.total_steps), soon=True)
        return False

    def log(self, run: Any) -> None:
        """One row: of the step just done, with the paces since the last row."""
        seconds, parts = self._stopwatch.edge()
        super().log(run)
        since = [loss for loss in run.history.losses[self._read :] if math.isfinite(loss)]
        self._read = len(run.history.losses)
        row: dict[str, Any] = {
            "step": run.position.step,
            "epoch": run.position.epoch,
            "loss": run.history.last_loss,
            "mean_loss": sum(since) / len(since) if since else None,
            "steps_per_second": round(self._steps / seconds, 4),
            "trained_tokens_per_second": round(self._counts.trained / seconds, 1),
            "real_tokens_per_second": round(self._counts.real / seconds, 1),
            "slot_tokens_per_second": round(self._counts.slots / seconds, 1),
            "flops_per_second": round(self._work.of(self._counts) / seconds),
            "data_wait": round(parts["data"] / seconds, 4),
            "memory_bytes": torch.cuda.max_memory_allocated() if run.trainee.device.type == "cuda" else peak_rss(),
            "mfu": round(self._work.of(self._counts) / seconds / self._peak, 4) if self._peak else None,
            "eta_seconds": round((run.total_steps - run.position.step) * seconds / self._steps, 1),
            "skipped_steps": len(run.history.skipped),
        }
        if self._price:
            spent = self._price * (time.perf_counter() - self._begun_at)
            row.update(cost=round(spent, 4), cost_at_end=round(spent + self._price * row["eta_seconds"], 4))
        if self._tracker is not None:
            self._tracker(row)
        self._file.write(json.dumps({**row, "loss": _number(row["loss"])}) + "\n")
        self._file.flush()
        self._line.show(share(row, run), words(row, run.total_steps))
        self._counts, self._row = Counts(), row

    def note(self, text: str) -> None:
        """A line that stays; the bar goes on below."""
        self._line.note(text)

    def close(self) -> None:
        """End the bar's line and the file."""
        self._line.end()
        self._file.close()
        if self._tracker is not None:
            self._tracker.close()


def open_to_continue(path: Path, step: int) -> TextIO:
    """A file of JSON rows to append to, without rows of steps behind `step`: those are about to be done again."""
    if path.exists():
        kept = [line for line in path.read_text(encoding="utf-8").splitlines() if _step_of(line) <= step]
        whole.write_file(path, "".join(line + "\n" for line in kept).encode())
    return path.open("a", encoding="utf-8")


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf  # torn by a kill


def share(row: dict[str, Any], run: Any) -> float:
    """Of the run that is done, at most 1."""
    total: int = run.total_steps
    return min(1.0, float(row["step"]) / max(1, total))


def words(row: dict[str, Any], total: int) -> list[str]:
    """What a terminal shows of a row, the most wanted first: what does not fit is cut at the end."""
    found = [f"{row['step']}/{total}"]
    if row.get("loss") is not None:
        found.append(f"loss {row['loss']:.4f}")
    found.append(f"{row['steps_per_second']:.2f} it/s")
    if "real_tokens_per_second" in row:
        found.append(f"{_short(row['real_tokens_per_second'])} tok/s")
    found.append(f"ETA {_clock(row['eta_seconds'])}")
    if row.get("skipped_steps"):
        found.append(f"{row['skipped_steps']} steps skipped (non-finite)")
    if "cost" in row:
        found.append(f"cost {row['cost']:.2f} of {row['cost_at_end']:.2f}")
    if row.get("mfu") is not None:
        found.append(f"MFU {100 * row['mfu']:.0f} %")
    if "data_wait" in row:
        found += [f"data {100 * row['data_wait']:.0f} %", f"{row['memory_bytes'] / 1e9:.1f} GB"]
    return found


class TerminalLine:
    """The line of a terminal that is written again and again, never wider than it; on a pipe, plain lines."""

    def __init__(self, out: TextIO) -> None:
        self._out, self.is_bar, self._shown = out, out.isatty(), 0.0

    def show(self, done: float, found: list[str], soon: bool = False) -> None:
        """A bar of which the share `done` is full, and as many words as fit. soon: not oftener than is seen."""
        now = time.monotonic()
        if soon and now - self._shown < REDRAWN:
            return
        if not self.is_bar:
            self._out.write("  ".join(found) + "\n")
        else:
            self._out.write("\r\x1b[2K" + fit_columns(done, found, shutil.get_terminal_size().columns))
        self._out.flush()
        self._shown = now

    def note(self, text: str) -> None:
        """A line of its own, in place of the bar, which is drawn anew below it."""
        self._out.write(("\r\x1b[2K" if self.is_bar else "") + text + "\n")
        self._out.flush()

    def end(self) -> None:
        """Leave the line; what follows begins a new one."""
        if self.is_bar and self._shown:
            self._out.write("\n")
            self._out.flush()


def fit_columns(done: float, found: list[str], columns: int) -> str:
    """The bar and as many words as `columns` hold: the first word, the bar, the rest."""
    text, width = found[0], columns - 1
    if len(text) + 2 + BAR <= width:
        text += " " + _bar(done)
    for word in found[1:]:
        if len(text) + 2 + len(word) > width:
            break
        text += "  " + word
    return text[:width]


class SamplingProgress:
    """The same bar while answers are sampled; on a pipe, a line every ten seconds."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._done, self._new, self._tokens, self._seconds = total, done, 0, 0, 0.0
        self._line, self._shown = TerminalLine(sys.stderr), time.monotonic()
        if done:
            sys.stderr.write(f"continuing with {done} of {total} answers sampled\n")

    def add(self, answers: int, tokens: int, seconds: float) -> None:
        """A batch is done."""
        self._done, self._new = self._done + answers, self._new + answers
        self._tokens, self._seconds = self._tokens + tokens, self._seconds + seconds
        if self._line.is_bar or self._done == self._total or time.monotonic() - self._shown > 10:
            self._show()

    def _show(self) -> None:
        left = (self._total - self._done) * self._seconds / self._new
        pace = _short(self._tokens / self._seconds)
        found = [f"sampling {self._done}/{self._total} answers", f"{pace} tok/s", f"ETA {_clock(left)}"]
        self._line.show(self._done / self._total, found)
        self._shown = time.monotonic()

    def close(self) -> None:
        """End the bar's line."""
        self._line.end()


def _number(value: Any) -> Any:
    """None for NaN and infinities, which JSON does not know."""
    return value if value is None or abs(value) < float("inf") else None


def _bar(done: float) -> str:
    """`BAR` characters, of which the share `done` is drawn full."""
    filled = int(BAR * done)
    return "━" * filled + "╌" * (BAR - filled)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    return f"{minutes}:{rest:02d}"


def _short(value: float) -> str:
    return f"{value / 1000:.1f}K" if value >= 1000 else f"{value:.0f}"
