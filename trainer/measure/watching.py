"""Observers of a run: what it did from its first step on, and a measured run's probes, warm-up and windows."""

from __future__ import annotations

import time
from typing import Any

import torch

from trainer.compute import process
from trainer.compute.contention import Contention
from trainer.data.counts import Counts
from trainer.measure import reference, turns
from trainer.measure.measurement import Measurement, Stopwatch, total
from trainer.measure.pace import meter
from trainer.measure.protocol import Protocol
from trainer.report import Timing


class Tally:
    """Counts the steps and what they worked on; knows how old the process was after the first."""

    def __init__(self) -> None:
        self.counts, self.steps = Counts(), 0
        self.cold_start_seconds: float | None = None

    def __call__(self, counts: Counts, run: Any) -> bool:
        if self.cold_start_seconds is None:
            self.cold_start_seconds = process.age()
        self.counts += counts
        self.steps += 1
        return False


class RunTimer:
    """Times a run as `protocol` says: made before the first step, told of every step, asked for `timing` at the end."""

    def __init__(self, protocol: Protocol, stopwatch: Stopwatch, device: torch.device, dtype: torch.dtype) -> None:
        self._contention, self._device, self._probes = Contention(), device, protocol.probes
        self._before = reference.probe(device) if protocol.probes else None
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)  # the probes' gigabytes are not the training's
        steady = device.type == "cpu" and protocol.probes
        pace = meter(device, dtype) if steady else None
        taken = turns.from_environment()
        if taken is not None and torch.get_num_threads() == 1:
            taken.share_core()
        self.measurement = Measurement(protocol, stopwatch, pace, taken)
        self.begun = time.perf_counter()
        self.measurement.start()

    def __call__(self, counts: Counts, run: Any) -> bool:
        warm = self.measurement.warmup is not None
        done = self.measurement.after_step(counts)
        if self.measurement.warmup is not None and not warm:
            self._contention.begin(self.measurement.measured_since)
        return done

    def timing(self, now: float) -> Timing:
        """What was seen until `now` (seconds of time.perf_counter), after probing once more."""
        after = reference.probe(self._device) if self._probes else None
        windows = self.measurement.windows
        return Timing(
            warmup=self.measurement.warmup, windows=windows, breakdown=total(windows).breakdown,
            contention=self._contention.report(now),
            reference_probes={"before": self._before, "after": after} if self._probes else None,
        )  # fmt: skip
