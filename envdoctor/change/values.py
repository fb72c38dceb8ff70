"""What a change is asked to do, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from envdoctor.locks.stack import Locked

Kind = Literal["exchange", "journaled-swap", "file-by-file", "create", "beside", "refuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one environment.

    ``wanted`` is the full set of pins, from which a missing environment is created and which ``strict`` keeps;
    ``install`` is what has to be installed again because it differs from its pin or is damaged. ``python`` names the
    interpreter of an environment that is created (a path, or a version such as "3.11"); None takes envdoctor's own.
    """

    environment: Path
    python: str | None = None
    wanted: tuple[Locked, ...] = ()
    install: tuple[Locked, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str | None] = field(default_factory=dict)
    strict: bool = False  # remove what no pin asks for
    installer: Literal["uv", "pip"] = "uv"
    wheels: Path | None = None  # folder of wheels beside the lock
    force: bool = False  # change it although programs run from it
    imports: tuple[str, ...] = ()  # modules that have to be importable in the clone before it is exchanged


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """How a change would be made, as found out by trying on the file system itself. Sizes are bytes."""

    kind: Kind
    reason: str
    environment: Path  # what is changed or made; for ``beside`` the new environment
    bytes_needed: int = 0
    bytes_free: int | None = None
    inodes_needed: int = 0
    inodes_free: int | None = None
    copies: bool = False  # the clone is made of copies, because hard links are not possible or would cost as much
    remedy: str = ""  # what to do about a refusal
    activate: str | None = None  # the one line that activates an environment made beside


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A finished change. ``previous`` is where the old state is kept, None for an environment that is new."""

    strategy: Strategy
    seconds: float
    kept: tuple[str, ...]  # "name version" of packages that no pin asked for and that were carried over
    previous: Path | None
    log: Path | None
    missed: tuple[str, ...] = ()  # paths that others wrote in the instant of the exchange, in the previous state only


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One state of an environment. ``path`` is where its files are: the environment itself for the current one."""

    number: int
    made: float  # seconds since the epoch
    summary: str
    path: Path
    current: bool = False
    changed: bool = False  # it alone holds what others did to it, and is never deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """Which state an environment was in, and which it is in now."""

    environment: Path
    before: State
    now: State
    seconds: float
    behind: tuple[str, ...] = ()  # what others did to the state that was left, and is in that one only
    shared: tuple[str, ...] = ()  # files that are not as they were when the state was left: edited in place since


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What an interrupted change had left behind, in words; empty when there was nothing."""

    actions: tuple[str, ...] = ()
