"""The progress bar on stderr and one JSON line per log in the run folder; on a pipe, plain lines instead of a bar."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, Dict, Optional, TextIO

import torch

from trainer.contention import peak_rss
from trainer.flops import Work
from trainer.measure import Counts, Stopwatch


class Progress:
    """An observer of the loop.

    `stopwatch` is read at logs only when nobody else reads it (a measured run reads it itself).
    """

    def __init__(
        self,
        folder: Path,
        every: int,
        work: Work,
        peak: Optional[float],
        stopwatch: Optional[Stopwatch],
        price: float = 0.0,
        tracker: Any = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / "metrics.jsonl").open("a", encoding="utf-8")
        self._every, self._work, self._peak, self._stopwatch = every, work, peak, stopwatch
        self._counts, self._steps, self._since = Counts(), 0, time.perf_counter()
        self._price, self._tracker, self._begun = price / 3600, tracker, time.perf_counter()
        self._out: TextIO = sys.stderr
        self._bar = self._out.isatty()

    def __call__(self, counts: Counts, run: Any) -> bool:
        self._counts += counts
        self._steps += 1
        if self._steps == self._every:
            self._log(run)
        return False

    def _log(self, run: Any) -> None:
        run.history.read(before=run.position.step - self._every)  # one log late: those steps are done, nothing waits
        if self._stopwatch is not None:
            seconds, parts = self._stopwatch.edge()
        else:
            seconds, parts = time.perf_counter() - self._since, {}
        line: Dict[str, Any] = {
            "step": run.position.step,
            "epoch": run.position.epoch,
            "loss": run.history.last_loss,
            "steps_per_second": round(self._steps / seconds, 4),
            "trained_tokens_per_second": round(self._counts.trained / seconds, 1),
            "real_tokens_per_second": round(self._counts.real / seconds, 1),
            "slot_tokens_per_second": round(self._counts.slots / seconds, 1),
            "flops_per_second": round(self._work.of(self._counts) / seconds),
            "data_wait": round(parts.get("data", 0.0) / seconds, 4) if parts else None,
            "memory_bytes": torch.cuda.max_memory_allocated() if run.trainee.device.type == "cuda" else peak_rss(),
            "mfu": round(self._work.of(self._counts) / seconds / self._peak, 4) if self._peak else None,
            "eta_seconds": round((run.total_steps - run.position.step) * seconds / self._steps, 1),
            "skipped_steps": len(run.history.skipped),
        }
        if self._price:
            spent = self._price * (time.perf_counter() - self._begun)
            line.update(cost=round(spent, 4), cost_at_end=round(spent + self._price * line["eta_seconds"], 4))
        if self._tracker is not None:
            self._tracker(line)
        self._file.write(json.dumps({**line, "loss": _number(line["loss"])}) + "\n")
        self._file.flush()
        self._show(line, run.total_steps)
        self._counts, self._steps, self._since = Counts(), 0, time.perf_counter()

    def _show(self, line: Dict[str, Any], total: int) -> None:
        done = min(1.0, line["step"] / max(1, total))
        words = ["%d/%d" % (line["step"], total), "%.2f it/s" % line["steps_per_second"]]
        words.append(
            "%s trained / %s real / %s slot tok/s"
            % tuple(_short(line[name + "_tokens_per_second"]) for name in ("trained", "real", "slot"))
        )
        if line["loss"] is not None:
            words.append("loss %.4f" % line["loss"])
        if line["data_wait"] is not None:
            words.append("data %.0f %%" % (100 * line["data_wait"]))
        words.append("%.1f GB" % (line["memory_bytes"] / 1e9))
        if line["mfu"] is not None:
            words.append("MFU %.0f %%" % (100 * line["mfu"]))
        if line["skipped_steps"]:
            words.append("%d steps skipped (non-finite)" % line["skipped_steps"])
        words.append("ETA %d:%02d" % divmod(int(max(0, line["eta_seconds"])), 60))
        if "cost" in line:
            words.append("cost %.2f of %.2f" % (line["cost"], line["cost_at_end"]))
        text = "  ".join(words)
        if self._bar:
            filled = int(20 * done)
            self._out.write("\r\x1b[2K%s%s %s" % ("━" * filled, "╌" * (20 - filled), text))
        else:
            self._out.write(text + "\n")
        self._out.flush()

    def close(self) -> None:
        """End the bar's line and the file."""
        if self._bar:
            self._out.write("\n")
        self._file.close()
        if self._tracker is not None:
            self._tracker.close()


class Reader:
    """What the processes without a bar do at each log: read the losses, so that all stop at the same bad one."""

    def __init__(self, every: int) -> None:
        self._every, self._steps = every, 0

    def __call__(self, counts: Counts, run: Any) -> bool:
        self._steps += 1
        if self._steps % self._every == 0:
            run.history.read(before=run.position.step - self._every)
        return False

    def close(self) -> None:
        """There is nothing to end."""


class SamplingProgress:
    """The same bar while answers are sampled; on a pipe, a line every ten seconds."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._done, self._new, self._tokens, self._seconds = total, done, 0, 0, 0.0
        self._out: TextIO = sys.stderr
        self._bar, self._shown = self._out.isatty(), time.monotonic()
        if done:
            self._out.write("continuing with %d of %d answers sampled\n" % (done, total))

    def add(self, answers: int, tokens: int, seconds: float) -> None:
        """A batch is done."""
        self._done, self._new = self._done + answers, self._new + answers
        self._tokens, self._seconds = self._tokens + tokens, self._seconds + seconds
        if self._bar or self._done == self._total or time.monotonic() - self._shown > 10:
            self._show()

    def _show(self) -> None:
        left = (self._total - self._done) * self._seconds / self._new
        text = "sampling %d/%d answers  %s tok/s  ETA %d:%02d" % (
            self._done, self._total, _short(self._tokens / self._seconds), *divmod(int(left), 60),
        )  # fmt: skip
        if self._bar:
            filled = int(20 * self._done / self._total)
            self._out.write("\r\x1b[2K%s%s %s" % ("━" * filled, "╌" * (20 - filled), text))
        else:
            self._out.write(text + "\n")
        self._out.flush()
        self._shown = time.monotonic()

    def close(self) -> None:
        """End the bar's line."""
        if self._bar:
            self._out.write("\n")


def _number(value: Any) -> Any:
    """None for NaN and infinities, which JSON does not know."""
    return value if value is None or abs(value) < float("inf") else None


def _short(value: float) -> str:
    return "%.1fK" % (value / 1000) if value >= 1000 else "%.0f" % value
