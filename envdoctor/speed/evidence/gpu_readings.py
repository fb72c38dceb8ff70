"""Reading the GPU while a run works: NVML every few seconds, each time in a child with a deadline.

A hanging driver costs a reading, never the run; on machines without an NVIDIA driver nothing is started.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from envdoctor.facts import answers, collect
from envdoctor.facts.model import Facts, Gpu, Unavailable
from envdoctor.facts.wire import WireError, from_json
from envdoctor.system import process, temporary

EVERY = 4.0  # seconds between readings: five or more in a measured run of 30 s, each 0.3 s of one core


@contextmanager
def gpu_readings(facts: Facts | None) -> Iterator[list[Gpu]]:
    """A list that fills with what NVML says of every GPU while the body runs; it stays empty without GPUs."""
    if facts is None or isinstance(facts.gpus, Unavailable) or not facts.gpus.devices:
        yield []
        return
    with read_repeatedly(read_gpus, EVERY) as found:
        yield found


@contextmanager
def read_repeatedly(read: Callable[[], Sequence[Gpu]], every: float) -> Iterator[list[Gpu]]:
    """A list that grows by one reading every so many seconds, in a thread, until the body ends."""
    found: list[Gpu] = []
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(every):
            found.extend(read())

    thread = threading.Thread(target=work, name="gpu-readings", daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join(collect.NVML + 1.0)


def read_gpus() -> list[Gpu]:
    """Every GPU as NVML reads it at this moment; what it does not answer in time is left out."""
    folder = temporary.new_folder()
    try:
        answer = folder / "gpu.json"
        process.run([sys.executable, "-I", collect.PROBES / "gpu.py", answer], deadline=collect.NVML)
        found = []
        for line in answers.read(answer):
            if isinstance(line.get("gpu"), dict):
                try:
                    found.append(from_json(Gpu, line["gpu"]))
                except WireError:
                    continue  # a probe of another version: this reading tells nothing
        return found
    finally:
        temporary.remove(folder)
