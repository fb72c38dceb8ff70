"""What `envdoctor.check`, `fix` and `verify` return: the JSON documents as frozen, typed values.

Each class has the fields of its document, under the same names; what a document leaves out is None here or empty.
The JSON schemas in ``envdoctor/schemas`` are made of these classes, and the tests hold real documents to them.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, TypeVar

from envdoctor.rules.finding import Crashed, Remedy, Row, Skipped
from envdoctor.values.frozen import frozen

Number = float | None


@frozen
class Error:
    """What stands in place of an answer: what is wrong, where, and what to do about it."""

    kind: Literal["usage", "input", "unknown", "interrupted", "internal"]
    message: str
    exit_code: int
    file: str | None = None
    where: str | None = None
    remedy: str | None = None


@frozen
class Failure:
    """What any command prints under ``--format json`` when it fails."""

    schema: int
    error: Error


@frozen
class Tool:
    """Who wrote the document."""

    name: str
    version: str


@frozen
class NotImported:
    """Why nothing is known of torch."""

    reason: str
    why: str  # absent, crashed, timed-out, failed, not-asked, not-reported


@frozen
class ExaminedEnvironment:
    """The environment that was examined; paths begin with ``~`` inside the home of the user."""

    path: str | None
    origin: Literal["probe", "recorded", "pasted", "image"]
    python: str | None  # version of its interpreter, "3.12.3"
    executable: str | None = None
    unavailable: str | None = None  # why its interpreter told nothing
    torch: str | None  # version
    cuda: str | None = None  # CUDA that torch was built with; None for a CPU build
    torch_unavailable: NotImported | None = None
    gpus: tuple[str, ...] | None = None  # names; None when not known


@frozen
class ChosenTarget:
    """What the environment was held against, and why."""

    name: str
    title: str
    reason: str
    stack: str | None  # the lock that this machine can run
    stack_reason: str | None
    evidence: Literal["measured", "derived", "modelled", "claimed", "none"]  # how well its speed is known


@frozen
class RootCause:
    """What to mend first; symptoms of it are expected to go with it."""

    rule: str
    kind: str
    subject: str


@frozen
class Finding:
    """Something wrong, by one rule."""

    rule: str  # "packages/pinned-versions"; `envdoctor explain RULE` tells more
    kind: str  # of a small vocabulary of causes
    severity: Literal["error", "warning", "note"] | None
    subject: str
    actual: str | None
    expected: str | None
    message: str
    who: Literal["you", "image", "host"]  # who can mend it
    remedy: Remedy
    symptom_of: str | None  # rule of the finding that causes this one
    fixable: bool  # by `envdoctor fix`
    source: str
    rows: tuple[Row, ...] = ()  # what it is made of, where that is more than one thing
    likely: bool = False  # the cause is no more than the usual one: the remedy helps where that is the cause


@frozen
class Unseen:
    """A section of facts that a clean bill of health needs, and why it is missing."""

    section: str
    reason: str
    word: str = "seen"


@frozen
class Unexplained:
    """An error line that nothing known explains, and what would help to explain it."""

    line: str
    help: str


@frozen
class Report:
    """``envdoctor check``. ``healthy`` means that everything a clean bill needs was seen, and nothing was found."""

    schema: int
    tool: Tool
    environment: ExaminedEnvironment
    target: ChosenTarget
    outcome: Literal["healthy", "findings", "unexplained", "unknown"]
    root_cause: RootCause | None
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    crashed: tuple[Crashed, ...]
    unseen: tuple[Unseen, ...]
    unexplained: Unexplained | None
    seconds: float

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that keep training from running, or running right."""
        return tuple(found for found in self.findings if found.severity == "error")

    def __repr__(self) -> str:
        from envdoctor.render import brief  # not before something is shown

        return brief.report(dataclasses.asdict(self), getattr(self, "notices", ()))

    def _repr_html_(self) -> str:
        """What a notebook shows: the HTML report."""
        from envdoctor.render.html import inline

        return inline.report(dataclasses.asdict(self), getattr(self, "notices", ()))


@frozen
class ChangedPackage:
    """A package, before and after; None where it was not there."""

    name: str
    before: str | None
    after: str | None


@frozen
class Change:
    """``envdoctor fix``: what was changed, or (``changed`` False) what would be."""

    changed: bool
    strategy: str | None  # create, exchange, ...; None where there was nothing to change
    seconds: float | None = None
    dry_run: bool | None = None
    plan: str | None = None  # what `fix --plan` takes: the change is made if it is still this one
    target: str | None = None
    packages: tuple[ChangedPackage, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)  # of torch, set by the startup hook
    variables: Mapping[str, str | None] = field(default_factory=dict)  # None: removed
    kept: tuple[str, ...] = ()  # packages outside the lock

    def __repr__(self) -> str:
        from envdoctor.render import brief  # not before something is shown

        return brief.change(dataclasses.asdict(self), getattr(self, "notices", ()))

    def _repr_html_(self) -> str:
        from envdoctor.render.html import inline

        return inline.change(dataclasses.asdict(self), getattr(self, "notices", ()))


@frozen
class Amount:
    """Time and money; None where no price was given."""

    seconds: float | None
    money: float | None = None
    currency: str | None = None


@frozen
class Spent:
    """Time and money of the run that was asked about."""

    seconds: float | None
    money: float | None = None
    currency: str | None = None
    fixed: Amount | None = None  # the same once the findings are mended


@frozen
class Verdict:
    """``envdoctor verify``: the speed of a short training against the target's baseline. Ratios above 1 are faster."""

    schema: int
    verdict: Literal["as-expected", "faster", "slower", "unstable", "not-comparable"]
    workload: str | None
    ratio: float | None
    interval: tuple[float, ...] | None  # of the ratio, at the error rate alpha
    alpha: float | None
    detectable: float | None  # the smallest slow-down that would have been caught, as a share
    cause: str | None  # machine, contention, stack, settings, data
    steps_per_second: float | None
    tokens_per_second: Mapping[str, Number]
    mfu: float | None
    of_achievable: float | None
    breakdown: Mapping[str, Number]  # share of a step's time by part
    gpu_idle: float | None
    windows: tuple[tuple[float, ...], ...]  # steps per second, one tuple for each fresh process
    reference_probes: Mapping[str, Mapping[str, float]]
    conditions: Mapping[str, Any]
    baseline: Mapping[str, Any]
    cost: Spent | None = None
    why: Mapping[str, Any] | None = None  # what trying the suspects said


@frozen
class Gate:
    """``envdoctor preflight``: a check, what was changed, and the speed unless the environment was too sick."""

    schema: int
    check: Report
    change: Change | None
    speed: Verdict | None
    gain: Verdict | None = None  # this state against the one before the change, where that could train


T = TypeVar("T")


def value(kind: type[T], document: Mapping[str, Any]) -> T:
    """The value of a document. Fields that a newer schema added are left out; the document itself has them."""
    from envdoctor.facts import wire

    return wire.from_json(kind, _without_unknown_fields(kind, document))


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _without_unknown_fields(hint: Any, data: Any) -> Any:
    """``data`` without the fields that its type does not have."""
    if dataclasses.is_dataclass(hint) and isinstance(data, dict):
        hints = _hints(typing.cast(type, hint))
        return {name: _without_unknown_fields(hints[name], member) for name, member in data.items() if name in hints}
    members = typing.get_args(hint)
    if typing.get_origin(hint) is tuple and isinstance(data, (list, tuple)):
        return [_without_unknown_fields(members[0], member) for member in data]
    if typing.get_origin(hint) in (typing.Union, types.UnionType) and data is not None:
        (first, *_) = (member for member in members if member is not type(None))
        return _without_unknown_fields(first, data)
    return data
