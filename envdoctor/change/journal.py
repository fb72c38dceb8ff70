"""The journal: which states of an environment are kept where, and which change was under way.

One JSON file, replaced as a whole before each step that a kill could leave half done. It names sibling directories by
number only, so that no journal, however damaged, can point recovery at anybody else's files. Which of two directories
is which is told by a *mark*, a small file with a random name inside every state that envdoctor has built: inode numbers
are not stable on every file system (overlayfs across layers, FUSE).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from envdoctor.change.exchange import replace_text
from envdoctor.change.places import Places
from envdoctor.errors import Trouble

SCHEMA = 1
MARK = ".envdoctor"  # name of the mark inside a state

Action = Literal["building", "swapping", "overwriting"]
Side = Literal["old", "new"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One state. ``slot`` is the sibling that holds it, None when it is the environment itself.

    A state that was changed file by file has no directory of its own: ``side`` says which half of the folder
    ``kept(slot)`` leads to it, from the state numbered ``against``.
    """

    number: int
    made: float
    summary: str
    mark: str = ""  # "" for a state that envdoctor did not build
    parent: int | None = None  # the state it was made from: where undo leads
    slot: int | None = None
    side: Side | None = None
    against: int | None = None
    changed: bool = False  # it holds what others did to it and no other state has: it is never deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A step under way: ``incoming`` will be the current state once it is done.

    ``inode`` of its directory decides where two states have the same mark, because envdoctor built neither.
    ``back`` is the side of ``kept(slot)`` that takes a change file by file back.
    """

    action: Action
    slot: int
    incoming: Generation
    inode: int = 0
    back: Side | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """``states`` are the previous ones, in order of number; ``doomed`` are slots that are being deleted."""

    current: Generation
    states: tuple[Generation, ...] = ()
    doomed: tuple[int, ...] = ()
    pending: Pending | None = None
    last: int = 0

    def slots(self) -> set[int]:
        kept = {state.slot for state in self.states if state.slot is not None}
        return kept | set(self.doomed) | ({self.pending.slot} if self.pending else set())


def location(places: Places, state: Generation) -> Path:
    """Where a state's files are."""
    if state.slot is None:
        return places.environment
    return places.slot(state.slot) if state.side is None else places.kept(state.slot)


def new_mark() -> str:
    """A random mark for a state that is going to be built."""
    return secrets.token_hex(8)


def set_mark(root: Path, mark: str) -> None:
    """Mark a state that is being built. The clone's copy of an older mark is replaced, never written through."""
    path = root / MARK
    path.unlink(missing_ok=True)
    path.write_text(mark + "\n", encoding="ascii")


def mark_of(root: Path) -> str | None:
    """The mark of a state: "" when envdoctor did not build it, None when there is no such directory."""
    if not root.is_dir():
        return None
    try:
        return (root / MARK).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def read(places: Places) -> Journal:
    """The journal of an environment; one that says nothing when there is none. Raises `Trouble` when it is damaged."""
    path = places.control / "journal.json"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Journal(current=_unknown_generation(places, 0))
    except OSError as error:
        raise Trouble(
            f"cannot be read: {error.strerror}", file=path, remedy="Run as its owner.", exit_code=3
        ) from error
    try:
        journal = _parse(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Trouble(
            f"is damaged ({error})",
            file=path,
            remedy=f"Move the folder {places.control} away; previous states are then no longer offered by undo.",
            exit_code=3,
        ) from error
    if journal.pending is None and mark_of(places.real) != journal.current.mark:
        # Somebody made the environment anew by other means.
        journal = replace(journal, current=_unknown_generation(places, journal.last + 1), last=journal.last + 1)
    return journal


def write(places: Places, journal: Journal) -> None:
    """Store the journal so that it lasts. Raises `Trouble` when the disk is full or the folder is read-only."""
    path = places.control / "journal.json"
    try:
        replace_text(path, json.dumps({"schema": SCHEMA, **asdict(journal)}, indent=1) + "\n")
    except OSError as error:
        raise Trouble(
            f"cannot be written: {error.strerror}",
            file=path,
            remedy="Free some space, or make the folder writable.",
            exit_code=3,
        ) from error


def _unknown_generation(places: Places, number: int) -> Generation:
    try:
        made = places.real.stat().st_mtime
    except OSError:
        made = 0.0
    return Generation(number=number, made=made, summary="as it was found", mark=mark_of(places.real) or "")


def _parse(data: Mapping[str, Any]) -> Journal:
    if data["schema"] != SCHEMA:
        raise ValueError(f"schema {data['schema']!r}; this envdoctor knows {SCHEMA}")
    pending = data["pending"]
    return Journal(
        current=_generation(data["current"]),
        states=tuple(_generation(state) for state in data["states"]),
        doomed=tuple(_number(slot) for slot in data["doomed"]),
        pending=None
        if pending is None
        else Pending(
            action=_action(pending["action"]),
            slot=_number(pending["slot"]),
            incoming=_generation(pending["incoming"]),
            inode=_number(pending["inode"]),
            back=_side(pending["back"]),
        ),
        last=_number(data["last"]),
    )


def _generation(data: Mapping[str, Any]) -> Generation:
    return Generation(
        number=_number(data["number"]),
        made=float(data["made"]),
        summary=str(data["summary"]),
        mark=str(data["mark"]),
        parent=None if data["parent"] is None else _number(data["parent"]),
        slot=None if data["slot"] is None else _number(data["slot"]),
        side=_side(data["side"]),
        against=None if data["against"] is None else _number(data["against"]),
        changed=data.get("changed", False) is True,
    )


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a whole number")
    return value


def _side(value: Any) -> Side | None:
    if value not in (None, "old", "new"):
        raise ValueError(f"unknown side {value!r}")
    return value  # type: ignore[no-any-return]


def _action(value: Any) -> Action:
    for action in ("building", "swapping", "overwriting"):
        if value == action:
            return action
    raise ValueError(f"unknown action {value!r}")
