"""The trainer's report.json as frozen values; one clear error, naming the field, for a truncated or hostile file.

Fields that a later trainer adds are ignored; those that the judgement needs are checked for type, finiteness and sign.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.facts.wire import WireError, from_json
from envdoctor.values.document import read_json

SCHEMA = 1
SIZE_LIMIT = 64 * 1024 * 1024  # bytes; a day of training at 10 logged losses per second stays below


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Steps between two synchronisations. ``tokens`` and ``breakdown`` (seconds) are sums over the window.

    ``pace``: how often per second the machine did a fixed piece of work at the window's edges
    (`trainer/measure/pace.py`).
    """

    steps: int
    seconds: float
    tokens: Mapping[str, float] = field(default_factory=dict)  # trained, real, slots
    breakdown: Mapping[str, float] = field(default_factory=dict)
    pace: float | None = None

    @property
    def rate(self) -> float:
        return self.steps / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """What trained: ``name`` of the GPU, or of the CPU when ``type`` is "cpu"."""

    type: str
    name: str
    capability: str | None = None
    cpu_model: str | None = None
    threads: int | None = None
    cores: int | None = None
    machine: str | None = None  # hash of the kernel's boot: the same for runs on one machine since its last start
    identity: str | None = None  # of the GPU: the hash of its UUID that facts have too


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """What was trained; ``flops_per_step`` by ``formula``, without recomputation."""

    parameters: int | None = None
    trained_parameters: int | None = None
    flops_per_step: float | None = None
    formula: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmup:
    """Steps before the first window, and whether a steady state was found."""

    steps: int = 0
    seconds: float = 0.0
    steady: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChoice:
    """A decision the trainer took by itself."""

    what: str
    value: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One run of the trainer. ``outcome``: finished, interrupted or failed.

    ``reference_probes`` has "before" and "after", each a mapping of name to speed.
    """

    schema: int
    outcome: str
    device: Device = Device(type="unknown", name="")
    windows: tuple[Window, ...] = ()
    error: Mapping[str, Any] | None = None
    task: str = ""
    workload: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[SettingChoice, ...] = ()
    versions: Mapping[str, str | None] = field(default_factory=dict)
    flags: Mapping[str, Any] = field(default_factory=dict)  # as read back from torch
    model: TrainedModel = TrainedModel()
    steps: int = 0
    seconds: float = 0.0
    cold_start_seconds: float | None = None
    losses: tuple[float | None, ...] = ()
    warmup: Warmup = Warmup()
    tokens_per_step: Mapping[str, float] = field(default_factory=dict)
    breakdown: Mapping[str, float] = field(default_factory=dict)
    packing_efficiency: float | None = None
    reference_probes: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    contention: Mapping[str, Any] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)
    gpu_idle: Mapping[str, Any] = field(default_factory=dict)  # share of the time without any kernel, and how known

    @property
    def rates(self) -> tuple[float, ...]:
        """Steps per second of each window."""
        return tuple(window.rate for window in self.windows)

    @property
    def precision(self) -> str:
        """The number format of the matrix products: what the trainer chose, else what its settings say."""
        chosen = next((choice.value for choice in self.choices if choice.what == "precision"), None)
        return chosen or str(self.settings.get("precision", "float32"))


def idle_share(reports: Sequence[Report]) -> float | None:
    """Median share of the time in which the GPU ran nothing; None where none was profiled (CPU, no CUPTI)."""
    known = [share for report in reports if isinstance(share := report.gpu_idle.get("share"), (int, float))]
    return statistics.median(known) if known else None


def read(path: Path) -> Report:
    """Read a report. Raises `Trouble` naming the file and the field."""
    data = read_json(path, limit=SIZE_LIMIT)
    return parse(data, path)


def parse(data: object, path: Path | None = None) -> Report:
    """Make a `Report` of JSON data. Raises `Trouble`; ``path`` is only for its text."""
    if not isinstance(data, dict):
        raise _trouble(path, "", f"expected an object, found {type(data).__name__}")
    if data.get("schema") != SCHEMA:
        raise _trouble(path, "schema", f"expected schema {SCHEMA}, found {str(data.get('schema'))[:40]!r}")
    try:
        # A failed run leaves sections at null: what it did not learn.
        known = {name: value for name, value in data.items() if value is not None}
        report = from_json(Report, known_fields(Report, known))
    except WireError as error:
        raise _trouble(path, error.where, error.problem) from error
    for where, problem in _impossible(report):
        raise _trouble(path, where, problem)
    return report


def _trouble(path: Path | None, where: str, problem: str) -> Trouble:
    remedy = "The trainer did not finish writing it, or it was edited: run it again."
    return Trouble(problem, file=path or "report", where=where, remedy=remedy)


def known_fields(kind: Any, data: object) -> object:
    """``data`` without the keys that ``kind`` and the dataclasses inside it do not have."""
    if dataclasses.is_dataclass(kind) and isinstance(data, dict):
        hints = typing.get_type_hints(kind)
        return {key: known_fields(hints[key], value) for key, value in data.items() if key in hints}
    members = typing.get_args(kind)
    if typing.get_origin(kind) is tuple and isinstance(data, list):
        return [known_fields(members[0], item) for item in data]
    return data


def _impossible(report: Report) -> Iterator[tuple[str, str]]:
    for index, window in enumerate(report.windows):
        where = f"windows[{index}]"
        if window.steps <= 0:
            yield f"{where}.steps", f"expected at least one step, found {window.steps}"
        if not (math.isfinite(window.seconds) and window.seconds > 0.0):
            yield f"{where}.seconds", f"expected a positive time, found {window.seconds}"
        if window.pace is not None and not (math.isfinite(window.pace) and window.pace > 0.0):
            yield f"{where}.pace", f"expected a positive speed, found {window.pace}"
        yield from _bad_amounts(f"{where}.tokens", window.tokens)
        yield from _bad_amounts(f"{where}.breakdown", window.breakdown)
    for moment, speeds in report.reference_probes.items():
        yield from _bad_amounts(f"reference_probes.{moment}", speeds)
    yield from _bad_amounts("tokens_per_step", report.tokens_per_step)
    yield from _bad_amounts("breakdown", report.breakdown)
    yield from _bad_amounts(
        "model", {"flops_per_step": report.model.flops_per_step, "parameters": report.model.parameters}
    )


def _bad_amounts(where: str, amounts: Mapping[str, float | None]) -> Iterator[tuple[str, str]]:
    for name, amount in amounts.items():
        if amount is not None and not (math.isfinite(amount) and amount >= 0.0):
            yield f"{where}.{name}", f"expected a number of at least 0, found {amount}"
