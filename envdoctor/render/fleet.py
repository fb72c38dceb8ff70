"""A fleet compared, as a document and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envdoctor.facts.cards import SeenCard
from envdoctor.facts.fleet import FleetComparison, Some
from envdoctor.facts.scrub import printable
from envdoctor.render.page import Line, line

SCHEMA = 2
SHOWN = 5  # names in a sentence


def document(
    comparison: FleetComparison,
    seen_before: Mapping[str, Sequence[SeenCard]],
    unread: Mapping[str, str],
    unread_count: int,
) -> dict[str, Any]:
    """``fleet --format json``. Of many machines with one value, the first names and their number."""
    return {
        "schema": SCHEMA,
        "machines": comparison.machines,
        "groups": [_some(group) for group in comparison.groups],
        "group_count": comparison.group_count,
        "odd_one_out": comparison.odd_one_out,
        "differences": [
            {
                "subject": oddity.subject,
                "usual": oddity.usual,
                "shared": oddity.shared,
                "odd": [{"value": value, **_some(some)} for value, some in oddity.odd.items()],
            }
            for oddity in comparison.oddities
        ],
        "speeds": [
            {
                "subject": speed.subject,
                "machines": speed.machines,
                "median": _short(speed.median),
                "lowest": _short(speed.lowest),
                "highest": _short(speed.highest),
                "slow_count": speed.slow_count,
                "slow": {name: _short(rate) for name, rate in speed.slow.items()},
            }
            for speed in comparison.speeds
        ],
        "slow_before": {
            name: [{"seen": c.seen, "slow": c.slow, "machine": c.machine, "day": c.day} for c in cards]
            for name, cards in seen_before.items()
        },
        "unread": {"count": unread_count, "files": dict(unread)},
    }


def lines(found: Mapping[str, Any]) -> Iterator[Line]:
    """What a person reads of the document."""
    differences, speeds = found["differences"], found["speeds"]
    slow = [speed for speed in speeds if speed["slow_count"]]
    number = found["machines"] or max((speed["machines"] for speed in speeds), default=0)
    if not differences and not slow:
        sure = not found["unread"]["count"]
        yield line(f"{'✓' if sure else '?'} {number} machines, all alike", "bold green" if sure else "bold yellow")
    else:
        sizes = ", ".join(str(group["count"]) for group in found["groups"][:SHOWN])
        more = ", ..." if found["group_count"] > SHOWN else ""
        groups = f", in {found['group_count']} groups of {sizes}{more}" if found["group_count"] > 1 else ""
        yield line(f"{number} machines{groups}", "bold")
    for difference in differences:
        odd = "; ".join(f"{one['value']}: {list_names(one)}" for one in difference["odd"][:SHOWN])
        rest = f"; {len(difference['odd']) - SHOWN} more values" if len(difference["odd"]) > SHOWN else ""
        usual = f": most have {difference['usual']} ({difference['shared']}), but "
        yield Line(((printable(difference["subject"]), "bold"), (printable(f"{usual}{odd}{rest}"), "")), 2)
    for speed in speeds:
        yield from _speed(speed)
    if found["odd_one_out"]:
        yield line(f"The odd one out is {printable(found['odd_one_out'])}.", "bold yellow")
    for name, cards in found["slow_before"].items():
        for card in cards:
            where = f"last in {card['machine']}, {card['day']}"
            yield line(
                printable(f"! a card of {name} was slow before: {card['slow']} of {card['seen']} times, {where}"),
                "yellow",
            )
    unread = found["unread"]
    if unread["count"]:
        some = "; ".join(f"{name}: {why}" for name, why in list(unread["files"].items())[:SHOWN])
        yield line(printable(f"? {unread['count']} reports could not be read: {some}"), "yellow")


def _speed(speed: Mapping[str, Any]) -> Iterator[Line]:
    spread = f": {speed['median']:.4g} (median of {speed['machines']}; {speed['lowest']:.4g} to {speed['highest']:.4g})"
    yield Line(((printable(speed["subject"]), "bold"), (spread, "")), 2)
    for name, rate in list(speed["slow"].items())[:SHOWN]:
        yield line(f"✗ {printable(name)}: {rate:.4g}, {rate / speed['median'] - 1:+.0%} against the median", "red", 4)
    if speed["slow_count"] > SHOWN:
        yield line(f"and {speed['slow_count'] - SHOWN} more are slow", "red", 4)


def list_names(some: Mapping[str, Any]) -> str:
    """``n1, n2 and 12 more``."""
    names = some["machines"][:SHOWN]
    more = some["count"] - len(names)
    shown = ", ".join(names)
    if not names:
        return f"{more} machines"
    return f"{shown} and {more} more" if more else shown


def _some(some: Some) -> dict[str, Any]:
    return {"count": some.count, "machines": list(some.names)}


def _short(number: float) -> float:
    return float(f"{number:.6g}")
