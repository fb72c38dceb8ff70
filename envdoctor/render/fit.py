"""``envdoctor fit``: the document, and the report for people, 80 columns wide."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from envdoctor import __version__
from envdoctor.models.fitting import Fit, Place
from envdoctor.models.memory import Memory
from envdoctor.speed.cost import duration

WIDTH = 80
# Parts of the trainer's formula (`trainer/model/peak.py`) in words, in the order in which people ask for them.
PARTS = {
    "weights": "weights (the float32 masters)",
    "frozen": "frozen weights",
    "casts": "weights, cast for the pass",
    "gradients": "gradients",
    "optimizer": "optimizer (AdamW's two moments)",
    "activations": "activations",
    "loss": "logits and loss",
    "buffers": "fragments and buffers",
    "context": "context of the process",
}
RECOMPUTED = {"none": "nothing", "alternate": "every other layer", "full": "every layer"}


def document(fit: Fit) -> dict[str, Any]:
    """``fit --format json``."""
    shape, headers = fit.source.shape, fit.source.headers
    return {
        "schema": 1,
        "tool": {"name": "envdoctor", "version": __version__},
        "outcome": fit.outcome,
        "model": {
            "name": fit.source.name,
            "family": shape.family if shape else None,
            "parameters": fit.source.parameters,
            "active_parameters": shape.parameters.active if shape else None,
            "trained_parameters": trained(fit),
            "in_files": headers.parameters if headers else None,
        },
        "job": {
            "task": fit.job.task,
            "tokens": fit.job.tokens,
            "accumulate": fit.job.accumulate,
            "lora_rank": fit.job.rank,
            "trained_share": fit.job.trained,
        },
        "target": fit.asked.target if fit.asked else None,
        "places": [_place(place) for place in fit.places],
        "cheapest": [place.target for place in fit.cheapest],
    }


def trained(fit: Fit) -> int | None:
    """How many weights are trained; None where that is not known."""
    if not fit.job.rank:
        return fit.source.parameters
    return fit.source.shape.adapters(fit.job.rank) if fit.source.shape else None


def _place(place: Place) -> dict[str, Any]:
    chosen, price = place.chosen, place.price
    return {
        "target": place.target,
        "title": place.title,
        "fits": place.fits,
        "why": place.why or None,
        "precision": place.precision,
        "room": place.room,
        "recompute": chosen.rung if chosen else None,
        "rungs": [_rung(rung) for rung in place.rungs],
        "step_seconds": place.pace.seconds if place.pace else None,
        "log_sd": place.pace.log_sd if place.pace else None,
        "seconds": place.seconds,
        "price": price.per_hour if price else None,
        "currency": price.currency if price else None,
        "cost": place.cost,
    }


def _rung(rung: Memory) -> dict[str, Any]:
    return {
        "recompute": rung.rung,
        "fits": rung.fits,
        "largest_micro_batch": rung.largest,
        "bytes": rung.total,
        "moment": rung.moment,
        "parts": dict(rung.parts),
    }


def text(fit: Fit) -> str:
    """For people. No line is wider than WIDTH."""
    return "\n".join(line.rstrip() for line in _lines(fit)) + "\n"


def _lines(fit: Fit) -> Iterator[str]:
    shape, count = fit.source.shape, fit.source.parameters
    of = f"{shape.family}, " if shape else ""
    yield _cut(f"{fit.source.name}: {of}{short(count)} parameters")
    some = trained(fit)
    share = "all of them trained" if not fit.job.rank else f"LoRA of rank {fit.job.rank}"
    if fit.job.rank and some is not None:
        share += f": {short(some)} trained"
    more = f", {fit.job.accumulate} micro-batches a step" if fit.job.accumulate > 1 else ""
    yield f"{fit.job.task}, {share}, {fit.job.tokens:,} tokens at once{more}"
    if fit.source.headers and shape and abs(fit.source.headers.parameters / count - 1) > 0.005:
        yield f"Its files hold {short(fit.source.headers.parameters)}: the config and the files disagree."
    if fit.asked is not None:
        yield ""
        yield from _asked(fit.asked)
    yield ""
    yield from _table(fit)
    yield from _cheapest(fit)


def _asked(place: Place) -> Iterator[str]:
    chosen = place.chosen
    room = "" if place.room is None else f", {_gb(place.room)} GB to plan with"
    if place.fits is None or not place.rungs:
        word = "does not fit" if place.too_small else "not known"
        yield f"{place.target} ({place.title}{room}): {word}"
        yield from _wrapped(place.why)
        return
    how = "does not fit, whatever is recomputed" if chosen is None else f"fits, recomputing {RECOMPUTED[chosen.rung]}"
    yield f"{place.target} ({place.title}{room}): {how}"
    shown = chosen or place.rungs[-1]
    yield ""
    yield f"  {'memory at the worst moment (' + shown.moment + '), ' + place.precision:<52}{'GB':>8}"
    for name, words in PARTS.items():
        if shown.parts.get(name, 0.0) > 0:
            yield f"  {words:<52}{_gb(shown.parts[name]):>8}"
    yield f"  {'together':<52}{_gb(shown.total):>8}"
    yield ""
    yield f"  {'recomputed':<20}{'GB':>8}   {'largest micro-batch':<20}"
    for rung in place.rungs:
        most = f"{rung.largest:,} tokens" if rung.largest else "none"
        yield f"  {RECOMPUTED[rung.rung]:<20}{_gb(rung.total):>8}   {most:<20}"


def _table(fit: Fit) -> Iterator[str]:
    steps = next((place.steps for place in fit.places if place.steps), None)
    timed = any(place.pace for place in fit.places)
    yield f"{'target':<10}{'GB':>7} {'of':>6}  {'recomputed':<18}" + (
        f"{'s a step':>9}{'range':>14}" + (f"{'whole run':>12}" if steps else "") if timed else ""
    )
    for place in fit.places:
        shown = place.chosen or (place.rungs[-1] if place.rungs else None)
        size = _gb(shown.total) if shown else "?"
        room = "?" if place.room is None else _gb(place.room)
        word = {True: "", False: "does not fit", None: "not known"}[place.fits]
        row = f"{place.target[:9]:<10}{size:>7} {room:>6}  {word or RECOMPUTED[shown.rung if shown else 'none']:<18}"
        if place.pace is not None and place.fits:
            row += _time(place, bool(steps))
        yield row
        if place.cost is not None and place.price is not None:
            yield f"{'':<26}{place.price.money(place.cost)}"
    unknown = {place.why for place in fit.places if place.why}
    for why in sorted(unknown):
        yield from _wrapped(why)


def _time(place: Place, whole: bool) -> str:
    assert place.pace is not None
    seconds, factor = place.pace.seconds, math.exp(place.pace.log_sd)
    spread = f"{_figure(seconds / factor)}-{_figure(seconds * factor)}"
    return f"{_figure(seconds):>9}{spread:>14}" + (
        f"{duration(place.seconds):>12}" if whole and place.seconds is not None else ""
    )


def _cheapest(fit: Fit) -> Iterator[str]:
    for place in fit.cheapest:
        assert place.price is not None
        assert place.cost is not None
        yield ""
        yield from _wrapped(f"Cheapest: {place.target}, {place.price.money(place.cost)}.")
    if len(fit.cheapest) > 1:
        yield from _wrapped("Prices in different currencies are not compared.")


def _wrapped(sentence: str) -> Iterator[str]:
    import textwrap

    yield from textwrap.wrap(sentence, WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=True)


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else "..." + line[-(WIDTH - 3) :]


def short(count: int) -> str:
    """8.03B, 494M: as models are called."""
    for unit, size in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= size:
            return f"{count / size:.3g}{unit}" if count < 100 * size else f"{count / size:.0f}{unit}"
    return str(count)


def _gb(size: float) -> str:
    return f"{size / 1e9:.2f}" if size < 9.995e9 else f"{size / 1e9:.1f}" if size < 999.5e9 else f"{size / 1e9:,.0f}"


def _figure(seconds: float) -> str:
    return f"{seconds:.3g}" if seconds < 100 else f"{seconds:,.0f}"
