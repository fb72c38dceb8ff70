"""What a run tells of itself: one typed value, filled as the run learns it, and its form as JSON (schema 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from trainer.errors import TrainerError
from trainer.options.settings import Settings

SCHEMA = 1


@dataclass(frozen=True)
class Choice:
    """A decision the trainer took by itself: what, the value taken, and why."""

    what: str
    value: str
    reason: str


@dataclass(frozen=True)
class Failure:
    """Why a run failed, in the words of its `TrainerError`."""

    kind: str
    message: str
    remedy: str

    @staticmethod
    def of(error: TrainerError) -> Failure:
        """What the report keeps of an exception."""
        return Failure(error.kind, error.message, error.remedy)


@dataclass(frozen=True)
class Processes:
    """Which process of how many this was. kind: single, ddp or fsdp2."""

    rank: int = 0
    world: int = 1
    kind: str = "single"


@dataclass(frozen=True)
class Device:
    """What trained. machine: the same for runs on one machine since its last start; None where unknown. identity: of
    the GPU, the hash of its UUID."""

    type: str
    name: str
    capability: str | None
    cpu_model: str
    threads: int
    cores: int
    machine: str | None
    identity: str | None = None


@dataclass
class Model:
    """What was trained, and the FLOPs of a step by `formula` (None before a step was done)."""

    parameters: int
    trained_parameters: int
    flops_per_step: float | None = None
    formula: str | None = None


@dataclass(frozen=True)
class Memory:
    """Largest so far, bytes: of this process on the host, and of tensors on its GPU (None on a CPU)."""

    peak_rss: int
    cuda_peak: int | None


@dataclass
class Warmup:
    """Steps before the first window, and why they ended."""

    steps: int
    seconds: float
    steady: bool
    reason: str


@dataclass
class Window:
    """Steps between two looks at the clock; `tokens` and `breakdown` (seconds by part) are sums over them.

    cpu_seconds: of this process, which tells a busy machine from slow code. pace: how often a second the machine did
    a fixed piece of work at the window's edges; None where that is not taken.
    """

    steps: int
    seconds: float
    cpu_seconds: float
    tokens: dict[str, int]
    squares: int
    breakdown: dict[str, float]
    pace: float | None = None


@dataclass
class Timing:
    """What only a measured run has."""

    warmup: Warmup | None = None
    windows: list[Window] = field(default_factory=list)
    breakdown: dict[str, float] | None = None
    contention: dict[str, Any] | None = None
    reference_probes: dict[str, dict[str, float] | None] | None = None
    gpu_idle: dict[str, Any] | None = None


@dataclass
class RunReport:
    """One run. What is None was not learnt: of a run that failed, all that comes after.

    outcome: failed, finished or interrupted. settings: as given; settled: what was decided of those left open. flags:
    as read back from torch. tokens_per_step: trained, real and slots. uploads: done, failed and left out.
    already_finished: the folder held this very run, whose figures these are; nothing was done.
    hub: of what came from there, name and commit. named_output: the folder was given, not chosen for this run.
    """

    outcome: str = "failed"
    task: str | None = None
    workload: str | None = None
    error: Failure | None = None
    settings: Settings = field(default_factory=Settings)
    settled: dict[str, Any] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)
    versions: dict[str, str | None] = field(default_factory=dict)
    processes: Processes | None = None
    data: dict[str, Any] | None = None
    flags: dict[str, Any] | None = None
    device: Device | None = None
    model: Model | None = None
    steps: int = 0
    seconds: float = 0.0
    cold_start_seconds: float | None = None
    losses: list[float | None] = field(default_factory=list)
    grad_norms: list[float | None] = field(default_factory=list)
    skipped_steps: list[int] | None = None
    tokens_per_step: dict[str, float] | None = None
    memory: Memory | None = None
    timing: Timing | None = None
    uploads: dict[str, Any] | None = None
    validation: dict[str, Any] | None = None
    hub: dict[str, Any] = field(default_factory=dict)
    first_loss: float | None = None
    last_loss: float | None = None
    pushed_to: str | None = None
    already_finished: bool = False
    named_output: bool = True
    model_path: str | None = None

    def follow(self, record: Mapping[str, Any]) -> None:
        """Begin with the losses that an earlier part of this run had."""
        self.first_loss, self.last_loss = record.get("first_loss"), record.get("last_loss")

    def repeat(self, record: Mapping[str, Any]) -> None:
        """Tell of this very run, which had finished before."""
        self.already_finished, self.outcome = True, "finished"
        self.steps, self.model_path, self.seconds = record["steps"], record["model_path"], record["seconds"]

    def summarise(self, losses: Sequence[float | None]) -> None:
        """The losses with which the run began and ended; those of an earlier part of it count."""
        if losses:
            self.last_loss = losses[-1]
            self.first_loss = losses[0] if self.first_loss is None else self.first_loss

    def as_json(self) -> dict[str, Any]:
        """As plain values. Sections that only some runs come to are left out where they are not known."""
        plain = asdict(self)
        timing, settled = plain.pop("timing"), plain.pop("settled")
        for name in ("processes", "data", "flags", "cold_start_seconds", "skipped_steps", "uploads", "validation"):
            if plain[name] is None:
                del plain[name]
        del plain["named_output"]
        if self.pushed_to is None:
            del plain["pushed_to"]
        if not self.hub:
            del plain["hub"]
        if not self.already_finished:
            del plain["already_finished"]
        if self.model and self.model.formula is None:
            del plain["model"]["flops_per_step"], plain["model"]["formula"]
        if timing is None:
            timing = asdict(Timing())
            del timing["gpu_idle"]
        for window in timing["windows"]:
            if window["pace"] is None:
                del window["pace"]
        settings = {**plain.pop("settings"), "data": list(self.settings.data), **settled}
        packing = (self.data or {}).get("packing_efficiency")
        return {"schema": SCHEMA, **plain, **timing, "settings": settings, "packing_efficiency": packing}
