"""Cards that were slow before: a file of the user's own, by the hashed identities that reports carry.

Kept only where it is asked for. A card is known again in another machine, or after a year; nobody is named by it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.facts.fleet_values import cards as cards_of
from envdoctor.values.document import read_json, write_whole
from envdoctor.values.frozen import frozen

SCHEMA = 1
LIMIT = 64 * 1024 * 1024  # bytes: about 400,000 cards


@frozen
class SeenCard:
    """What is known of a card: in how many comparisons it was, in how many it was slow, and where the last time."""

    seen: int = 0
    slow: int = 0
    machine: str = ""  # where it was slow the last time
    day: str = ""  # and when, ISO 8601


def read(path: Path) -> dict[str, SeenCard]:
    """Cards by identity; none where there is no such file yet. Raises `Trouble` for a file of something else."""
    if not path.exists():
        return {}
    data = read_json(path, limit=LIMIT)
    rows = data.get("cards") if isinstance(data, dict) and data.get("schema") == SCHEMA else None
    if not isinstance(rows, dict):
        raise Trouble("not a file of cards", file=path, remedy="Give a path of its own: --cards FILE")
    return {name: _card(row, path, name) for name, row in rows.items()}


def _card(row: Any, path: Path, name: str) -> SeenCard:
    kinds = {"seen": int, "slow": int, "machine": str, "day": str}
    if not isinstance(row, dict) or not all(k in kinds and isinstance(v, kinds[k]) for k, v in row.items()):
        raise Trouble("not a card", file=path, where=f"cards.{name}", remedy="Restore the file, or begin a new one.")
    return SeenCard(**row)


def write(known: Mapping[str, SeenCard], path: Path) -> None:
    """Whole or not at all."""
    rows = {
        name: {"seen": card.seen, "slow": card.slow, "machine": card.machine, "day": card.day}
        for name, card in sorted(known.items())
    }
    write_whole(path, json.dumps({"schema": SCHEMA, "cards": rows}, indent=1) + "\n")


def identities(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The hashed identities of the cards in a report of facts."""
    facts = document.get("facts")
    found = cards_of(facts.get("gpus")) if isinstance(facts, dict) else []
    names = (card.get("identity") for card in found)
    return tuple(name for name in names if isinstance(name, str) and re.fullmatch(r"[0-9a-f]{16}", name))


def remember(
    known: Mapping[str, SeenCard], machines: Mapping[str, Iterable[str]], slow: Iterable[str], day: str
) -> dict[str, SeenCard]:
    """What is known after one more comparison, of ``machines`` by the identities of their cards.

    A machine tells of its cards together: which of eight is the slow one is not known from its speed.
    """
    after, sick = dict(known), set(slow)
    for machine, names in machines.items():
        for name in names:
            card = after.get(name, SeenCard())
            after[name] = (
                SeenCard(seen=card.seen + 1, slow=card.slow + 1, machine=machine, day=day)
                if machine in sick
                else SeenCard(seen=card.seen + 1, slow=card.slow, machine=card.machine, day=card.day)
            )
    return after
