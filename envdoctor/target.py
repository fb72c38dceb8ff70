"""Targets: one GPU each, with its conditions, its stacks in order, its fast flags and its baselines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from envdoctor.document import line_of, read_toml
from envdoctor.errors import Trouble
from envdoctor.stack import Locked

SCHEMA = 1
Evidence = Literal["measured", "derived", "claimed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Recorded speed of a workload: whose, on what, how known, and the raw numbers."""

    workload: str
    stack: str
    evidence: Evidence
    lock: str | None = None  # digest of the stack's pins when it was measured
    gpu: str | None = None  # device it was measured on ("Intel Xeon ... 2 CPUs" for a CPU target)
    steps_per_second: float | None = None  # only for claims without windows
    windows: tuple[tuple[float, ...], ...] = ()  # steps per second of each window, one tuple per fresh process
    probes: tuple[Mapping[str, float], ...] = ()  # reference probes of the same processes
    conditions: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""  # who claims it, or what it was derived from, or the command that measured it


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The stack taken for this machine, the reason, and its pins for this interpreter."""

    stack: str
    reason: str
    pins: tuple[Locked, ...] = ()
    cuda: str | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One target file. ``choice`` is filled in for the machine at hand; None when no stack fits or none was chosen."""

    name: str
    title: str
    gpu_names: tuple[str, ...] = ()
    capability: str | None = None
    stacks: tuple[str, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    baselines: tuple[Baseline, ...] = ()
    path: Path | None = None
    choice: Choice | None = None
    no_choice: str | None = None  # why no stack was chosen

    @property
    def is_cpu(self) -> bool:
        return not self.gpu_names and self.capability is None

    def baseline(self, workload: str, stack: str) -> Baseline | None:
        return next((b for b in self.baselines if b.workload == workload and b.stack == stack), None)

    def evidence(self, workload: str | None = None) -> Literal["measured", "derived", "claimed", "none"]:
        """How well the speed of the chosen stack is known. Another lock than the measured one makes it derived."""
        stack = self.choice.stack if self.choice else (self.stacks[0] if self.stacks else "")
        known = [b for b in self.baselines if b.stack == stack and (workload is None or b.workload == workload)]
        for word in ("measured", "derived", "claimed"):
            for baseline in known:
                if baseline.evidence == word:
                    stale = self.choice is not None and baseline.lock not in (None, self.choice.digest)
                    return "derived" if word == "measured" and stale else word
        return "none"


def no_target(name: str = "none", title: str = "no target") -> Target:
    """A target that asks for nothing: for judging a report by general knowledge alone."""
    return Target(name=name, title=title)


def load(path: Path) -> Target:
    """Read a target file. Raises `Trouble` with the line of the first mistake."""
    data = read_toml(path)
    reader = _Reader(path)
    if data.get("schema") != SCHEMA:
        raise reader.trouble("schema", f"expected schema = {SCHEMA}, found {data.get('schema')!r}")
    known = {"schema", "title", "gpu", "stacks", "flags", "env", "sources", "conditions", "baseline"}
    for key in data:
        if key not in known:
            raise reader.trouble(key, f"unknown key; known are {', '.join(sorted(known))}")
    gpu = reader.table(data, "gpu")
    return Target(
        name=path.stem,
        title=reader.text(data, "title"),
        gpu_names=reader.texts(gpu, "names", "gpu.names"),
        capability=reader.capability(gpu),
        stacks=reader.texts(data, "stacks", "stacks"),
        flags={k: reader.flag(v, f"flags.{k}") for k, v in reader.table(data, "flags").items()},
        variables={k: reader.flag(v, f"env.{k}") for k, v in reader.table(data, "env").items()},
        sources={k: str(v) for k, v in reader.table(data, "sources").items()},
        conditions=reader.table(data, "conditions"),
        baselines=tuple(reader.baseline(b, f"baseline[{i}]") for i, b in enumerate(data.get("baseline", ()))),
        path=path,
    )


class _Reader:
    """Typed access that knows the file, so that every complaint names the line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def trouble(self, where: str, problem: str) -> Trouble:
        return Trouble(problem, file=self.path, where=line_of(self.path, where), remedy="Correct the target file.")

    def table(self, data: Mapping[str, Any], key: str) -> dict[str, Any]:
        value = data.get(key, {})
        if not isinstance(value, dict):
            raise self.trouble(key, f"expected a table, found {value!r}")
        return value

    def text(self, data: Mapping[str, Any], key: str) -> str:
        value = data.get(key)
        if not isinstance(value, str) or not value:
            raise self.trouble(key, "missing" if value is None else f"expected text, found {value!r}")
        return value

    def texts(self, data: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
        value = data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.trouble(where, f"expected a list of texts, found {value!r}")
        return tuple(value)

    def capability(self, gpu: Mapping[str, Any]) -> str | None:
        value = gpu.get("capability")
        if value is not None and not (isinstance(value, str) and re.fullmatch(r"\d+\.\d+", value)):
            raise self.trouble("gpu.capability", f'expected text like "9.0", found {value!r}')
        return value

    def flag(self, value: Any, where: str) -> str:
        """Flags travel as text; a list (an order of preference) is joined by commas."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return ",".join(value)
        if isinstance(value, (str, int, float)):
            return str(value)
        raise self.trouble(where, f"expected text, a number, true, false or a list of texts, found {value!r}")

    def baseline(self, data: Any, where: str) -> Baseline:
        if not isinstance(data, dict):
            raise self.trouble(where, f"expected a table, found {data!r}")
        evidence = data.get("evidence")
        if evidence not in ("measured", "derived", "claimed"):
            raise self.trouble(f"{where}.evidence", f"expected measured, derived or claimed, found {evidence!r}")
        windows = data.get("windows", [])
        rows_ok = isinstance(windows, list) and all(
            isinstance(row, list) and all(isinstance(n, (int, float)) and n > 0 for n in row) for row in windows
        )
        if not rows_ok:
            raise self.trouble(f"{where}.windows", "expected one list of positive numbers per process")
        if evidence == "measured" and not windows:
            raise self.trouble(where, "a measured baseline needs its windows")
        unknown = set(data) - set(Baseline.__dataclass_fields__)
        if unknown:
            raise self.trouble(f"{where}.{min(unknown)}", "unknown key")
        return Baseline(
            workload=self.text(data, "workload"),
            stack=self.text(data, "stack"),
            evidence=evidence,
            lock=data.get("lock"),
            gpu=data.get("gpu"),
            steps_per_second=data.get("steps_per_second"),
            windows=tuple(tuple(float(n) for n in row) for row in windows),
            probes=tuple(data.get("probes", ())),
            conditions=data.get("conditions", {}),
            source=data.get("source", ""),
        )
