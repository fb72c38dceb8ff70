"""Looking at the GPU while a run works: NVML every few seconds, each time in a child with a deadline.

A hanging driver costs a look, never the run; on machines without an NVIDIA driver nothing is started.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from envdoctor import answers, collect, process
from envdoctor.facts import Facts, Gpu, Unavailable
from envdoctor.wire import WireError, from_json

EVERY = 4.0  # seconds between looks: five or more in a measured run of 30 s, each 0.3 s of one core


@contextmanager
def watched(
    facts: Facts | None, *, every: float = EVERY, look: Callable[[], Sequence[Gpu]] | None = None
) -> Iterator[list[Gpu]]:
    """A list that fills with what NVML says of every GPU while the body runs; it stays empty without GPUs."""
    seen: list[Gpu] = []
    if facts is None or isinstance(facts.gpus, Unavailable) or not facts.gpus.devices:
        yield seen
        return
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(every):
            seen.extend((look or look_now)())

    thread = threading.Thread(target=work, name="gpu-watch", daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join(collect.NVML + 1.0)


def look_now() -> list[Gpu]:
    """Every GPU as NVML reads it at this moment; what it does not answer in time is left out."""
    folder = answers.new_folder()
    try:
        answer = folder / "gpu.json"
        process.run([sys.executable, "-I", collect.PROBES / "gpu.py", answer], deadline=collect.NVML)
        found = []
        for line in answers.read(answer):
            if isinstance(line.get("gpu"), dict):
                try:
                    found.append(from_json(Gpu, line["gpu"]))
                except WireError:
                    continue  # a probe of another version: this look tells nothing
        return found
    finally:
        answers.remove(folder)
