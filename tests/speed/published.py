"""Speeds of trainings that somebody published, with their conditions: ``published_speeds.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from envdoctor.knowledge.table import Rows, Table
from envdoctor.values.frozen import frozen

TABLE = Table(Path(__file__).with_name("published_speeds.toml"))


@frozen
class PublishedSpeed:
    """One row; the table's head says what its columns mean. ``speed``: tokens per second and GPU."""

    gpu: str
    model: str
    length: int
    rows: int
    speed: float
    style: str
    source: str
    software: str
    attention: str = "flash-2"
    precision: str = "bfloat16"
    accumulate: int = 1
    gpus: int = 1
    recomputed: float = 0.0
    bandwidth: float | None = None
    power: float | None = None

    @property
    def tokens(self) -> int:
        """Of one optimizer step on one GPU."""
        return self.rows * self.length * self.accumulate

    @property
    def seconds(self) -> float:
        """Of one optimizer step."""
        return self.tokens / self.speed


def published_speeds() -> tuple[PublishedSpeed, ...]:
    """All rows, in the table's order."""
    return tuple(Rows(TABLE, "speed", PublishedSpeed, by="gpu"))


def shape_of(model: str) -> Mapping[str, int | bool]:
    """What the table says of a model. Raises KeyError for one that it does not name."""
    found: Mapping[str, int | bool] = TABLE.head["models"][model]
    return found
