"""What `envdoctor.fit` returns: its JSON document as frozen, typed values (``envdoctor/schemas/fit.json``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from envdoctor.api.answers import Tool
from envdoctor.values.frozen import frozen


@frozen
class Weights:
    """The model: numbers of weights, and of those in its files where these are there."""

    name: str
    family: str | None  # None: not known, counted from its files
    parameters: int
    active_parameters: int | None
    trained_parameters: int | None
    in_files: int | None


@frozen
class Training:
    """What is trained, and how much of it at once."""

    task: str
    tokens: int  # of one micro-batch
    accumulate: int
    lora_rank: int
    moments: Literal["float32", "8bit", "adafactor"]
    trained_share: float


@frozen
class Rung:
    """One rung of recomputation: bytes at the worst moment of a step, by part, and the largest micro-batch, tokens."""

    recompute: str  # "none", "alternate", "selective", "full", a number of layers, or two: the second in part
    fits: bool
    largest_micro_batch: int
    bytes: float
    moment: str
    parts: Mapping[str, float]


@frozen
class Offer:
    """The training on one target. ``seconds`` and ``cost`` are those of all steps; None is not known, or not asked."""

    target: str
    title: str
    fits: bool | None
    why: str | None  # why something is not known
    precision: str
    room: float | None  # bytes that may be planned with
    recompute: str | None  # the least that fits
    rungs: tuple[Rung, ...]
    step_seconds: float | None
    log_sd: float | None  # a step is within a factor of exp(log_sd) two times in three
    seconds: float | None
    price: float | None  # of an hour
    currency: str | None
    cost: float | None


@frozen
class Alternative:
    """Options with which a training fits that does not, and the bytes it takes then."""

    options: str
    recompute: str
    bytes: float


@frozen
class Fitting:
    """``envdoctor fit``: does a training fit, how long does it take, and where is it cheapest?"""

    schema: int
    tool: Tool
    outcome: Literal["fits", "does-not-fit", "unknown"]  # on the target asked for, else on any
    model: Weights
    job: Training
    target: str | None
    alternatives: tuple[Alternative, ...]  # where it does not fit the target asked for
    places: tuple[Offer, ...]
    cheapest: tuple[str, ...]  # one for each currency
