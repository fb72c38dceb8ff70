"""A fleet compared, as one page that needs no network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envdoctor.render.fleet import list_names
from envdoctor.render.html.style import CSS
from envdoctor.render.html.words import safe


def page(found: Mapping[str, Any]) -> str:
    """The document as one page that needs no network."""
    slow = [speed for speed in found["speeds"] if speed["slow_count"]]
    alike = not found["differences"] and not slow
    word = "all alike" if alike else f"{len(found['differences'])} differences, {len(slow)} speeds with slow machines"
    parts = [f'<h1 class="{"good" if alike else "bad"}">{found["machines"]} machines: {word}</h1>']
    if found["odd_one_out"]:
        parts.append(f'<p class="card warning">The odd one out is <b>{safe(found["odd_one_out"])}</b>.</p>')
    for name, cards in found["slow_before"].items():
        told = "; ".join(f"{card['slow']} of {card['seen']} times, last in {card['machine']}" for card in cards)
        parts.append(f'<p class="card warning">A card of {safe(name)} was slow before: {safe(told)}</p>')
    if found["speeds"]:
        rows = [
            (s["subject"], s["machines"], f"{s['median']:.4g}", f"{s['lowest']:.4g} to {s['highest']:.4g}", _slow(s))
            for s in found["speeds"]
        ]
        parts += ["<h2>Speeds</h2>", *_table(("what", "machines", "median", "range", "slow"), rows)]
    if found["differences"]:
        differences = [
            (
                d["subject"],
                f"{d['usual']} ({d['shared']})",
                "; ".join(f"{o['value']}: {list_names(o)}" for o in d["odd"]),
            )
            for d in found["differences"]
        ]
        parts += ["<h2>Differences</h2>", *_table(("what", "most have", "but"), differences)]
    if found["group_count"] > 1:
        groups = [(group["count"], list_names(group)) for group in found["groups"]]
        parts += [f"<h2>{found['group_count']} groups</h2>", *_table(("machines", "who"), groups)]
    if found["unread"]["count"]:
        parts += [
            f"<h2>{found['unread']['count']} reports not read</h2>",
            *_table(("file", "why"), list(found["unread"]["files"].items())),
        ]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>{head}<title>envdoctor: a fleet</title><style>{CSS}</style></head>\n'
        f"<body><main>\n{body}\n</main></body>\n</html>\n"
    )


def _slow(speed: Mapping[str, Any]) -> str:
    told = ", ".join(f"{name} {rate / speed['median'] - 1:+.0%}" for name, rate in speed["slow"].items())
    more = speed["slow_count"] - len(speed["slow"])
    return f"{told} and {more} more" if more > 0 else told


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    yield '<div class="scroll"><table><tr>' + "".join(f"<th>{safe(word)}</th>" for word in head) + "</tr>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{safe(str(cell))}</td>" for cell in row) + "</tr>"
    yield "</table></div>"
