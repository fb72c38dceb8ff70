"""The trainer's own formula of a step's memory, and the table of what models keep, both loaded from its folder.

The doctor never imports the trainer, which needs torch. This one file of it needs the standard library only, and is
loaded by its path, as the table of flags is: one formula for both.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Mapping
from typing import Any, Protocol, cast

from envdoctor import bundle
from envdoctor.values.document import read_json


class Footprint(Protocol):
    """``trainer.model.peak.Footprint``: what one model needs, bytes."""

    layers: int
    inside: float
    products: float
    weights: float
    gradients: float
    moments: float

    def process(
        self, device: str, rung: str, slots: float, trained: float, chunk: float = 0, accumulate: int = 1
    ) -> tuple[str, Mapping[str, float]]: ...

    def peak(self, rung: str, slots: float, trained: float, chunk: float = 0, accumulate: int = 1) -> float: ...


class Formula(Protocol):
    """The module ``trainer/model/peak.py``."""

    RUNGS: tuple[str, ...]
    MARGIN: float

    def again(self, rung: str, layers: int) -> range: ...

    def between(self, rung: str, layers: int) -> range: ...

    def ladder(self, layers: int, selective: bool = False) -> tuple[str, ...]: ...

    def bytes_of_moments(self, narrow: float, others: float, kind: str, factored: float = 0.0) -> float: ...

    def Footprint(self, **fields: Any) -> Footprint: ...  # noqa: N802 - a class


@functools.cache
def formula() -> Formula:
    """The module, run once."""
    spec = importlib.util.spec_from_file_location("_envdoctor_peak", bundle.peak_formula())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(Formula, module)


@functools.cache
def kept_bytes() -> Mapping[str, Any]:
    """Bytes that one layer of each family keeps per token, by device, precision and what is trained."""
    found: Mapping[str, Any] = read_json(bundle.peak_formula().with_name("kept.json"))
    return found
