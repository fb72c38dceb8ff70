"""``envdoctor fit``: the document, and the report for people, 80 columns wide."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envdoctor import __version__
from envdoctor.facts.scrub import printable
from envdoctor.models.fitting import Fit, JobOnTarget
from envdoctor.models.memory import PeakMemory
from envdoctor.speed.cost import Price, duration

WIDTH = 80
# Parts of the trainer's formula (`trainer/model/peak.py`) in words, in the order in which people ask for them.
PARTS = {
    "weights": "weights (masters in float32, frozen ones narrow)",
    "casts": "weights, cast for the pass",
    "gradients": "gradients",
    "optimizer": "optimizer (its moments)",
    "activations": "activations",
    "loss": "logits and loss",
    "copies": "copies for a checkpoint",
    "buffers": "fragments and buffers",
    "context": "context of the process",
}
RECOMPUTED = {"none": "nothing", "alternate": "every other layer", "full": "every layer", "1": "one layer",
              "selective": "all layers partly", "0+1": "one layer partly"}  # fmt: skip


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
            "trained_parameters": trained_parameters(fit),
            "in_files": headers.parameters if headers else None,
        },
        "job": {
            "task": fit.job.task,
            "tokens": fit.job.tokens,
            "accumulate": fit.job.accumulate,
            "lora_rank": fit.job.rank,
            "moments": fit.job.moments,
            "trained_share": fit.job.trained,
        },
        "target": fit.asked.target if fit.asked else None,
        "alternatives": [
            {"options": other.options, "recompute": other.memory.rung, "bytes": other.memory.total}
            for other in fit.alternatives
        ],
        "places": [_place(place) for place in fit.places],
        "cheapest": [place.target for place in fit.cheapest],
    }


def trained_parameters(fit: Fit) -> int | None:
    """How many weights are trained; None where that is not known."""
    if not fit.job.rank:
        return fit.source.parameters
    return fit.source.shape.adapters(fit.job.rank) if fit.source.shape else None


def _place(place: JobOnTarget) -> dict[str, Any]:
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


def _rung(rung: PeakMemory) -> dict[str, Any]:
    return {
        "recompute": rung.rung,
        "fits": rung.fits,
        "largest_micro_batch": rung.largest,
        "bytes": rung.total,
        "moment": rung.moment,
        "parts": dict(rung.parts),
    }


def text(document: Mapping[str, Any]) -> str:
    """The document for people. No line is wider than WIDTH."""
    return "\n".join(line.rstrip() for line in _lines(document)) + "\n"


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    model, job = document["model"], document["job"]
    count, held = model["parameters"], model["in_files"]
    of = f"{model['family']}, " if model["family"] else ""
    yield _truncate(f"{printable(model['name'])}: {of}{short(count)} parameters")
    rank, some = job["lora_rank"], model["trained_parameters"]
    share = "all of them trained" if not rank else f"LoRA of rank {rank}"
    if rank and some is not None:
        share += f": {short(some)} trained"
    more = f", {job['accumulate']} micro-batches a step" if job["accumulate"] > 1 else ""
    more += {"8bit": ", AdamW's moments in 8 bits", "adafactor": ", by Adafactor"}.get(job["moments"], "")
    yield f"{job['task']}, {share}, {job['tokens']:,} tokens at once{more}"
    if held and model["family"] and abs(held / count - 1) > 0.005:
        yield f"Its files hold {short(held)}: the config and the files disagree."
    asked = next((place for place in document["places"] if place["target"] == document["target"]), None)
    if asked is not None:
        yield ""
        yield from _target_lines(asked)
        if others := [f"{other['options']} ({_gb(other['bytes'])} GB)" for other in document["alternatives"]]:
            yield ""
            yield from textwrap.wrap("What would fit: " + ", ".join(others), WIDTH)
    yield ""
    yield from _table(document["places"])
    yield from _cheapest(document)


def _target_lines(place: Mapping[str, Any]) -> Iterator[str]:
    room = "" if place["room"] is None else f", {_gb(place['room'])} GB to plan with"
    about = f"{place['target']} ({printable(place['title'])}{room})"
    if not place["rungs"]:
        yield from textwrap.wrap(f"{about}: {'not known' if place['fits'] is None else 'does not fit'}", WIDTH)
        yield from _wrap(place["why"] or "")
        return
    shown = _rung_to_show(place)
    how = f"fits, recomputing {_layers(shown['recompute'])}" if shown["fits"] else "does not fit, even recomputed"
    yield from textwrap.wrap(f"{about}: {how}", WIDTH)
    yield ""
    yield f"  {'memory at the worst moment (' + shown['moment'] + '), ' + place['precision']:<56}{'GB':>8}"
    for name, words in PARTS.items():
        if shown["parts"].get(name, 0.0) > 0:
            yield f"  {words:<56}{_gb(shown['parts'][name]):>8}"
    yield f"  {'together':<56}{_gb(shown['bytes']):>8}"
    yield ""
    yield f"  {'recomputed':<24}{'GB':>8}   {'largest micro-batch':<20}"
    for rung in place["rungs"]:
        most = f"{rung['largest_micro_batch']:,} tokens" if rung["largest_micro_batch"] else "none"
        yield f"  {_layers(rung['recompute']):<24}{_gb(rung['bytes']):>8}   {most:<20}"


def _layers(rung: str) -> str:
    """In words; a number is so many of the layers, a second one those between whose products is computed again."""
    whole, _, partly = rung.partition("+")
    if whole == "0":
        return RECOMPUTED.get(rung, f"{partly} layers partly")
    return RECOMPUTED.get(rung, f"{whole} layers and {partly} partly" if partly else f"{whole} layers")


def _rung_to_show(place: Mapping[str, Any]) -> Mapping[str, Any]:
    """The least recomputation that fits, else the most."""
    found: Mapping[str, Any] = next((rung for rung in place["rungs"] if rung["fits"]), place["rungs"][-1])
    return found


def _table(places: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    whole = any(place["seconds"] is not None for place in places)
    timed = any(place["step_seconds"] is not None for place in places)
    yield f"{'target':<10}{'GB':>7} {'of':>6}  {'recomputed':<17}" + (
        f"{'s a step':>9}{'range':>14}" + (f"{'whole run':>14}" if whole else "") if timed else ""
    )
    for place in places:
        shown = _rung_to_show(place) if place["rungs"] else None
        size = _gb(shown["bytes"]) if shown else "?"
        room = "?" if place["room"] is None else _gb(place["room"])
        word = {True: "", False: "does not fit", None: "not known"}[place["fits"]]
        row = f"{place['target'][:9]:<10}{size:>7} {room:>6}  "
        row += f"{word or _layers(shown['recompute'] if shown else 'none').replace(' layers and', ' and'):<17}"
        if place["step_seconds"] is not None and place["fits"]:
            row += _time(place)
        yield row
        if place["cost"] is not None:
            yield f"{'':<26}{_price(place).money(place['cost'])}"
    for why in sorted({place["why"] for place in places if place["why"]}):
        yield from _wrap(why)


def _time(place: Mapping[str, Any]) -> str:
    seconds, factor = place["step_seconds"], math.exp(place["log_sd"])
    spread = f"{_figure(seconds / factor)}-{_figure(seconds * factor)}"
    whole = f"{duration(place['seconds']):>14}" if place["seconds"] is not None else ""
    return f"{_figure(seconds):>9} {spread:>13}{whole}"


def _price(place: Mapping[str, Any]) -> Price:
    return Price(per_hour=place["price"], currency=place["currency"])


def _cheapest(document: Mapping[str, Any]) -> Iterator[str]:
    named = {place["target"]: place for place in document["places"]}
    for name in document["cheapest"]:
        yield ""
        yield from _wrap(f"Cheapest: {name}, {_price(named[name]).money(named[name]['cost'])}.")
    if len(document["cheapest"]) > 1:
        yield from _wrap("Prices in different currencies are not compared.")


def _wrap(sentence: str) -> Iterator[str]:
    yield from textwrap.wrap(
        printable(sentence), WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=True
    )


def _truncate(line: str) -> str:
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
    """At most six characters: steps of a few milliseconds are told to as many digits as their column has room for."""
    if seconds >= 100:
        return f"{seconds:,.0f}"
    return f"{seconds:.2g}" if seconds < 0.01 else f"{seconds:.3g}"
