"""What one step of each bundled workload asks of a device, by counting its operators: ``work.toml``.

The table is made, never written by hand: ``python -m tests.benchmarks.work`` counts again after the trainer's model
code has changed, and a test holds the small workloads of the table against that code.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from envdoctor.knowledge.table import Rows, bundled_table
from envdoctor.values.frozen import frozen


@frozen
class Work:
    """One optimizer step, a mean one where steps differ.

    ``products``: FLOPs by number format; ``attention``: FLOPs of its kernels, backward pass included; ``bytes``: read
    and written by all other kernels; ``optimizer_bytes``: of them, by the update; ``launches``: kernels; ``tokens``,
    ``trained``: real ones, and those predicted; ``squares``: sum of squared document lengths.
    """

    workload: str = ""
    precision: str = "bfloat16"
    tokens: float
    trained: float = 0.0
    squares: float = 0.0
    parameters: float = 0.0
    products: Mapping[str, float]
    attention: float = 0.0
    bytes: float
    optimizer_bytes: float = 0.0
    launches: float = 0.0


@functools.cache
def _table() -> Rows[Work]:
    return Rows(bundled_table("work"), "work", Work, by="workload")


def work_of(workload: str, precision: str) -> Work | None:
    """A step of a bundled workload in a number format; None where nobody counted that."""
    return next((one for one in _table().among({workload}) if one.precision == precision), None)


def workloads() -> tuple[str, ...]:
    """The workloads that the table has."""
    return _table().names()
