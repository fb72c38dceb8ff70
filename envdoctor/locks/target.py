"""Targets: one GPU each, with its conditions, its stacks in order, its fast flags and its baselines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from envdoctor.bundle import lockfiles
from envdoctor.errors import Trouble
from envdoctor.locks.demands import unprintable
from envdoctor.locks.stack import Locked
from envdoctor.values.document import line_of, read_toml
from envdoctor.values.frozen import frozen
from envdoctor.values.numbers import is_positive
from envdoctor.values.pattern import Pattern

SCHEMA = 1
# What programs, start-up files, packages, models and servers are found by, and whom an encrypted connection trusts.
_STEERS = Pattern(
    r"PATH|HOME|IFS|ENV|BASH_ENV|SHELL|NETRC|VIRTUAL_ENV|CONDA_\w+|LD_\w+|DYLD_\w+|PIP_\w+|UV_\w+|GIT_\w+|SSL_\w+|SSH_\w+"
    r"|PYTHON(PATH|HOME|STARTUP|USERBASE|BREAKPOINT|EXECUTABLE|PLATLIBDIR|INSPECT)|\w*_INDEX_URL|\w*_PROXY|\w*_CA_BUNDLE"
    r"|\w+_CA_CERTS|HF_ENDPOINT|HF_TOKEN|AWS_\w+",
    re.IGNORECASE,
)

Evidence = Literal["measured", "derived", "claimed"]


@frozen
class Baseline:
    """Recorded speed of a workload: whose, on what, how known, and the raw numbers."""

    workload: str
    stack: str
    evidence: Evidence
    lock: str | None = None  # digest of the stack's pins when it was measured
    gpu: str | None = None  # device it was measured on ("Intel Xeon ... 2 CPUs" for a CPU target)
    steps_per_second: float | None = None  # only for claims without windows
    windows: tuple[tuple[float, ...], ...] = ()  # steps per second of each window, one tuple per fresh process
    paces: tuple[tuple[float, ...], ...] = ()  # the machine's own pace at each of the windows
    probes: tuple[Mapping[str, float], ...] = ()  # reference probes of the same processes
    conditions: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""  # who claims it, or what it was derived from, or the command that measured it


@frozen
class StackChoice:
    """The stack taken for this machine, the reason, and its pins for this interpreter."""

    stack: str
    reason: str
    pins: tuple[Locked, ...] = ()
    cuda: str | None = None
    digest: str | None = None  # of all its pins
    training_digest: str | None = None  # of those that a training step may run
    preferred: str | None = None  # the stack that comes first on this machine, where a later one is what is installed
    resolved: str | None = None  # the day its releases were resolved together, ISO 8601
    only_compared: bool = (
        False  # its wheels are another system's: its releases say what to have, and nothing installs them
    )

    def is_timed_as(self, lock: str) -> bool:
        """Was a baseline with this ``lock`` measured with these wheels? Earlier ones name all pins, and not only those
        that a training step may run."""
        return lock in (self.digest, self.training_digest)


@frozen
class Target:
    """One target file. ``choice`` is filled in for the machine at hand; None when no stack fits or none was chosen."""

    name: str
    title: str
    gpu_names: tuple[str, ...] = ()
    capability: str | None = None
    stacks: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()  # of its stacks, that belong to it; others are there for who asks for them
    flags: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    baselines: tuple[Baseline, ...] = ()
    path: Path | None = None
    choice: StackChoice | None = None
    no_choice: str | None = None  # why no stack was chosen
    refused: tuple[str, ...] = ()  # without a choice, why not: one "stack: reason" for each that was considered
    asked: bool = False  # by name or file, not found by looking at the machine

    @property
    def is_own(self) -> bool:
        """Is it a file of the user's, and none that envdoctor brings?"""
        return self.path is not None and lockfiles() not in self.path.resolve().parents

    def pin(self, name: str) -> Locked | None:
        """What the stack that was chosen locks of a package."""
        return next((pin for pin in self.choice.pins if pin.name == name), None) if self.choice else None

    @property
    def is_cpu(self) -> bool:
        return not self.gpu_names and self.capability is None

    def baseline(self, workload: str, stack: str, precision: str | None = None) -> Baseline | None:
        """The baseline of a workload and stack; of several, the one measured in ``precision``, else the first."""
        known = [b for b in self.baselines if b.workload == workload and b.stack == stack]
        return next((b for b in known if b.conditions.get("precision") == precision), known[0] if known else None)

    def evidence(self, workload: str | None = None) -> Literal["measured", "derived", "claimed", "none"]:
        """How well the speed of the chosen stack is known. Another lock than the measured one makes it derived."""
        stack = self.choice.stack if self.choice else (self.stacks[0] if self.stacks else "")
        known = [b for b in self.baselines if b.stack == stack and (workload is None or b.workload == workload)]
        for word in ("measured", "derived", "claimed"):
            for baseline in known:
                if baseline.evidence == word:
                    lock, choice = baseline.lock, self.choice
                    stale = choice is not None and lock is not None and not choice.is_timed_as(lock)
                    return "derived" if word == "measured" and stale else word
        return "none"


def no_target(name: str = "none", title: str = "no target") -> Target:
    """A target that asks for nothing: for judging a report by general knowledge alone."""
    return Target(name=name, title=title)


def load(path: Path) -> Target:
    """Read a target file. Raises `Trouble` with the line of the first mistake."""
    data = read_toml(path)
    reader = _TargetReader(path)
    if data.get("schema") != SCHEMA:
        raise reader.trouble("schema", f"expected schema = {SCHEMA}, found {data.get('schema')!r}")
    known = {"schema", "title", "gpu", "stacks", "extras", "flags", "env", "sources", "conditions", "baseline"}
    for key in data:
        if key not in known:
            raise reader.trouble(key, f"unknown key; known are {', '.join(sorted(known))}")
    gpu = reader.table(data, "gpu")
    for key in gpu:
        if key not in ("names", "capability"):
            raise reader.trouble(f"gpu.{key}", "unknown key; known are names, capability")
    return Target(
        name=path.stem,
        title=reader.text(data, "title"),
        gpu_names=reader.texts(gpu, "names", "gpu.names"),
        capability=reader.capability(gpu),
        stacks=reader.stacks(data),
        extras=reader.texts(data, "extras", "extras"),
        flags={k: reader.flag(v, f"flags.{k}") for k, v in reader.table(data, "flags").items()},
        variables={k: reader.variable(k, v) for k, v in reader.table(data, "env").items()},
        sources={
            k: reader.text(reader.table(data, "sources"), k, f"sources.{k}") for k in reader.table(data, "sources")
        },
        conditions=reader.table(data, "conditions"),
        baselines=tuple(reader.baseline(b, f"baseline[{i}]") for i, b in enumerate(reader.rows(data, "baseline"))),
        path=path,
    )


class _TargetReader:
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

    def text(self, data: Mapping[str, Any], key: str, where: str = "") -> str:
        value = data.get(key)
        if not isinstance(value, str) or not value or unprintable(value):
            problem = "missing" if value is None else f"expected printable text, found {value!r}"
            raise self.trouble(where or key, problem)
        return value

    def rows(self, data: Mapping[str, Any], key: str) -> list[Any]:
        value = data.get(key, [])
        if not isinstance(value, list):
            raise self.trouble(key, f"expected [[{key}]] tables, found {value!r}")
        return value

    def stacks(self, data: Mapping[str, Any]) -> tuple[str, ...]:
        names = self.texts(data, "stacks", "stacks")
        for name in names:
            if not re.fullmatch(r"[\w-]+", name):
                raise self.trouble("stacks", f"{name!r} is not the name of a stack (pylock.<name>.toml)")
        return names

    def texts(self, data: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
        value = data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and not unprintable(item) for item in value):
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

    def variable(self, name: str, value: Any) -> str:
        """A target is handed from person to person: it speaks of speed, not of what is run or who is asked."""
        if _STEERS.fullmatch(name):
            raise self.trouble(f"env.{name}", f"a target may not set {name}: it decides what is run, or from where")
        return self.flag(value, f"env.{name}")

    def per_process(self, data: Mapping[str, Any], name: str, where: str) -> tuple[tuple[float, ...], ...]:
        rows = data.get(name, [])
        if not isinstance(rows, list) or not all(isinstance(row, list) and row for row in rows):
            raise self.trouble(f"{where}.{name}", "expected one list of numbers per process")
        if not all(is_positive(number) for row in rows for number in row):
            raise self.trouble(f"{where}.{name}", "expected positive numbers")
        return tuple(tuple(float(number) for number in row) for row in rows)

    def baseline(self, data: Any, where: str) -> Baseline:
        if not isinstance(data, dict):
            raise self.trouble(where, f"expected a table, found {data!r}")
        evidence = data.get("evidence")
        if evidence not in ("measured", "derived", "claimed"):
            raise self.trouble(f"{where}.evidence", f"expected measured, derived or claimed, found {evidence!r}")
        windows, paces = self.per_process(data, "windows", where), self.per_process(data, "paces", where)
        if paces and [len(row) for row in paces] != [len(row) for row in windows]:
            raise self.trouble(f"{where}.paces", "expected one number for each of the windows")
        if evidence == "measured" and not windows:
            raise self.trouble(where, "a measured baseline needs its windows")
        speed = data.get("steps_per_second")
        if speed is not None and not is_positive(speed):
            raise self.trouble(f"{where}.steps_per_second", f"expected a positive number, found {speed!r}")
        probes = self.rows(data, "probes")
        if not all(isinstance(row, dict) and all(is_positive(rate) for rate in row.values()) for row in probes):
            raise self.trouble(f"{where}.probes", "expected one table of positive numbers per process")
        unknown = set(data) - set(Baseline.__dataclass_fields__)
        if unknown:
            raise self.trouble(f"{where}.{min(unknown)}", "unknown key")
        return Baseline(
            workload=self.text(data, "workload", f"{where}.workload"),
            stack=self.text(data, "stack", f"{where}.stack"),
            evidence=evidence,
            lock=self.text(data, "lock", f"{where}.lock") if "lock" in data else None,
            gpu=self.text(data, "gpu", f"{where}.gpu") if "gpu" in data else None,
            steps_per_second=None if speed is None else float(speed),
            windows=windows,
            paces=paces,
            probes=tuple(probes),
            conditions=self.table(data, "conditions"),
            source=self.text(data, "source", f"{where}.source") if data.get("source") else "",
        )
