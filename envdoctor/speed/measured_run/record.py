"""Records of measured runs as frozen values: one per training process, as it wrote them itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.facts.wire import WireError, from_json
from envdoctor.speed.report import Device, Report, Warmup, Window, known_fields
from envdoctor.values.document import read_json

SCHEMA = 1
STEADY = 0.8
"""Leading windows slower than this share of the median are warm-up: compilation, caches, autotuning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader:
    """A DataLoader the run iterated."""

    dataset: str = ""
    length: int | None = None
    batch_size: int | None = None
    workers: int = 0
    pin_memory: bool = False
    persistent_workers: bool = False
    prefetch_factor: int | None = None
    collate: str = ""
    shuffle: bool = False
    drop_last: bool = False
    sampler: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A line of the user's code, and how many looks found the training thread in it."""

    part: str
    file: str
    line: int
    function: str
    looks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What one training process saw of itself. ``batches`` are sums over the ``looked`` ones; ``waits`` counts all."""

    schema: int
    steps: int
    seconds: float
    device: Device
    program: str = ""
    pid: int = 0
    rank: int | None = None
    world: int = 1
    local_ranks: int = 1
    first_step_after: float = 0.0
    windows: tuple[Window, ...] = ()
    waits: int = 0
    loaders: tuple[Loader, ...] = ()
    batches: Mapping[str, int] = field(default_factory=dict)
    lines: tuple[tuple[Any, ...], ...] = ()
    contention: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, Any] = field(default_factory=dict)
    driver: str = ""  # the library whose trainer runs the loop: trl, transformers, lightning; else the script's own
    anomaly_detection: bool = False
    optimizer: str = ""
    optimizer_fused: bool | None = None  # None: it has no such form
    products: Mapping[str, int] = field(default_factory=dict)  # matrix products of a step by number format, where seen
    trained_parameters: int = 0
    parameter_types: tuple[str, ...] = ()
    ended: str | None = None
    error: str | None = None

    @property
    def steady_windows(self) -> tuple[Window, ...]:
        """The windows after the warm-up; all of them when there are too few to tell."""
        if len(self.windows) < 3:
            return self.windows
        middle = sorted(window.rate for window in self.windows)[len(self.windows) // 2]
        first = next(index for index, window in enumerate(self.windows) if window.rate >= STEADY * middle)
        return self.windows[first:]

    @property
    def timed_steps(self) -> tuple[int, int]:
        """The step at whose end the steady windows begin, and the one at whose end they stop, counted from 1."""
        steady = sum(window.steps for window in self.steady_windows)
        before = 1 + sum(window.steps for window in self.windows) - steady
        return before, before + steady

    @property
    def seen_lines(self) -> Iterator[SourceLine]:
        """The sampled lines, most looks first; rows of another shape are left out."""
        for row in self.lines:
            if len(row) == 5 and isinstance(row[2], int) and isinstance(row[4], int):
                part, file, line, function, looks = row
                yield SourceLine(part=str(part), file=str(file), line=line, function=str(function), looks=looks)


def read(folder: Path) -> tuple[Record, ...]:
    """The records of a run, rank 0 first; empty when no process took a step. Raises `Trouble` for a broken one.

    A restarted worker leaves several records of one rank: the one with most steps counts.
    """
    best: dict[tuple[int | None, int], Record] = {}
    for path in sorted(folder.glob("run-*.json")):
        record = parse(read_json(path), path)
        key = (record.rank, 0 if record.rank is not None else record.pid)
        if key not in best or best[key].steps < record.steps:
            best[key] = record
    return tuple(sorted(best.values(), key=lambda record: (record.rank or 0, -record.steps)))


def parse(data: object, path: Path | None = None) -> Record:
    """Make a record of JSON data. Raises `Trouble` naming file and field."""
    try:
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise WireError("schema", f"expected schema {SCHEMA}")
        known = {name: value for name, value in data.items() if value is not None}
        record = from_json(Record, known_fields(Record, known))
        for index, window in enumerate(record.windows):
            if window.steps <= 0 or not (math.isfinite(window.seconds) and window.seconds > 0.0):
                raise WireError(f"windows[{index}]", "expected positive steps and seconds")
    except WireError as error:
        remedy = "It was written by another version or edited: measure again."
        raise Trouble(error.problem, file=path or "record", where=error.where, remedy=remedy) from error
    return record


def tokens_per_step(record: Record) -> dict[str, float]:
    """Tokens of one optimizer step of one process, by the batches that were looked at."""
    looked = record.batches.get("looked", 0)
    batches_per_step = record.waits / record.steps if record.steps else 0.0
    return {
        name: record.batches.get(name, 0) / looked * batches_per_step if looked else 0.0
        for name in ("trained", "real", "slots")
    }


def as_report(record: Record, team: Sequence[Record] = ()) -> Report:
    """The record in the shape of a trainer's report, for the same judgement and the same JSON.

    ``team``: the records of all ranks of a distributed run, whose steps are one step; their tokens are added up.
    """
    windows = record.steady_windows
    each = [tokens_per_step(member) for member in (team or (record,))]
    tokens = {name: sum(one[name] for one in each) for name in ("trained", "real", "slots")}
    return Report(
        schema=1,
        outcome="finished" if record.ended in ("exit", "stopped") else "interrupted",
        device=record.device,
        windows=tuple(
            Window(
                steps=window.steps,
                seconds=window.seconds,
                tokens={name: number * window.steps for name, number in tokens.items()},
                breakdown=window.breakdown,
            )
            for window in windows
        ),
        versions=dict(record.versions),
        settings={"precision": next(iter(record.parameter_types), "float32")},
        steps=record.steps,
        seconds=record.seconds,
        cold_start_seconds=record.first_step_after,
        warmup=Warmup(
            steps=record.steps - sum(window.steps for window in windows),
            steady=len(windows) > 0,
            reason="" if windows else "it ended before one window was complete",
        ),
        tokens_per_step=tokens,
        contention=dict(record.contention),
    )


def team_of(record: Record, records: Sequence[Record]) -> tuple[Record, ...]:
    """The ranks seen of the distributed run that ``record`` belongs to; only itself when it trains alone."""
    if record.rank is None or record.world < 2:
        return (record,)
    return tuple(other for other in records if other.rank is not None and other.world == record.world)


def slowest(records: Sequence[Record]) -> Record:
    """The rank that waits longest for data: the others wait for it in every collective."""

    def share(record: Record) -> float:
        seconds = sum(window.seconds for window in record.steady_windows)
        waits = sum(window.breakdown.get("data", 0.0) for window in record.steady_windows)
        return waits / seconds if seconds else 0.0

    return max(records, key=share)
