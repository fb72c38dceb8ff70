"""The sections of the page about speed: verdict, charts, suspects, before and after, conditions."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envdoctor.render.html import charts
from envdoctor.render.html.words import figure, safe
from envdoctor.speed.cost import duration

VERDICTS = {"as-expected": "good", "faster": "good", "slower": "bad", "unstable": "warn", "not-comparable": "warn"}
BYTES_PER_WEIGHT = 34.0
"""Least memory traffic of a step and weight: AdamW in float32 reads weight, gradient and two moments and writes three
of them (28), forward and backward each read the weight in bf16 and write its gradient (6). Activations come on top."""


def section(speed: Mapping[str, Any]) -> Iterator[str]:
    """The verdict with its figures and charts."""
    about = speed.get("conditions", {})
    sentence = str(about.get("sentence", ""))
    yield "<h2>Speed</h2>"
    yield f'<p class="{VERDICTS[speed["verdict"]]}"><b>{safe(sentence or speed["verdict"])}</b></p>'
    if about.get("figures"):
        yield f"<p>{safe(about['figures'])}</p>"
    yield from (f"<p>{safe(reason)}</p>" for reason in about.get("reasons", ()) if reason not in sentence)
    if speed.get("cause"):
        yield f"<p><b>cause: {safe(speed['cause'])}</b></p>"
    yield '<div class="figures">'
    for name, value in _figures(speed):
        yield f'<div class="figure"><b>{safe(value)}</b><span class="soft">{safe(name)}</span></div>'
    yield "</div>"
    if speed.get("why"):
        yield from _why(speed["why"])
    windows: Sequence[Sequence[float]] = speed.get("windows") or ()
    if windows:
        recorded = [rate for row in (speed.get("baseline") or {}).get("windows", ()) for rate in row]
        level = statistics.median(recorded) if recorded else None
        yield figure(charts.trace(windows, level), "Steps per second, window by window, one line per process")
        every = [rate for row in windows for rate in row]
        yield figure(charts.distribution(every), "Distribution of window speeds")
    if any(speed.get("breakdown", {}).values()):
        caption = f"Where a step's time goes: {about.get('diagnosis', '')}"
        yield figure(charts.stacked_bar(speed["breakdown"]), caption, charts.legend(speed["breakdown"]))
    yield from _roofline(speed)


def _figures(speed: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if speed.get("steps_per_second"):
        yield "optimizer steps", f"{speed['steps_per_second']:.3g} it/s"
    tokens = speed.get("tokens_per_second") or {}
    for name in ("real", "trained"):
        if tokens.get(name):
            yield f"{name} tokens", f"{tokens[name]:,.0f}/s"
    for key, name in (
        ("mfu", "model FLOPs utilisation"),
        ("of_achievable", "of the achievable rate"),
        ("gpu_idle", "of the time the GPU ran nothing"),
    ):
        if speed.get(key) is not None:
            yield name, f"{speed[key]:.0%}"
    if speed.get("ratio") is not None:
        low, high = speed["interval"]
        yield f"of the baseline [{low:.3f}, {high:.3f}]", f"{speed['ratio']:.3f}"
    cost = speed.get("cost")
    if cost:
        yield "your run", _cost(cost)
        if cost.get("fixed"):
            yield "your run, mended", _cost(cost["fixed"])


def _cost(cost: Mapping[str, Any]) -> str:
    money = f", {cost['money']:.2f} {cost.get('currency') or ''}".rstrip() if cost.get("money") is not None else ""
    return duration(cost["seconds"]) + money


def _why(why: Mapping[str, Any]) -> Iterator[str]:
    yield "<h3>Why?</h3>"
    yield f"<p><b>{safe(why.get('sentence', ''))}</b></p>"
    if why.get("remedy"):
        yield f"<p>{safe(why['remedy'])}</p>"
    tried = [row for row in why.get("tried", ()) if row.get("ratio") and row.get("interval")]
    drawn = [(str(r["mended"]), float(r["ratio"]), (float(r["interval"][0]), float(r["interval"][1]))) for r in tried]
    yield figure(charts.ratios(drawn), "Speed with one suspect taken away over speed as it is, interleaved runs")
    if why.get("not_tried"):
        yield "<details><summary>Not tried</summary><ul>"
        yield from (f"<li>{safe(text)}</li>" for text in why["not_tried"])
        yield "</ul></details>"


def _roofline(speed: Mapping[str, Any]) -> Iterator[str]:
    about = speed.get("conditions", {})
    roof, work, rate = about.get("roofline") or {}, about.get("flops_per_step"), speed.get("steps_per_second")
    peak = roof.get("peak") or roof.get("achievable")
    bandwidth, weights = roof.get("bandwidth"), about.get("parameters")
    if work and rate and peak and bandwidth and weights:
        chart = charts.roofline(
            peak, roof.get("achievable"), bandwidth, work / (BYTES_PER_WEIGHT * weights), work * rate
        )
        caption = (
            f"Roofline. Work: {about.get('formula') or 'by the trainer'}. "
            f"Achievable: {roof.get('source') or 'unknown'}. "
            f"Traffic: {BYTES_PER_WEIGHT:.0f} bytes per weight and step at least, so the run stands further left."
        )
        yield figure(chart, caption)
        return
    rows = [("this run", rate), ("limit of this chip", roof.get("limit_steps_per_second"))]
    known = [(name, float(value)) for name, value in rows if value]
    if len(known) > 1:
        caption = f"Against the roofline. {about.get('formula') or ''} {roof.get('source') or ''}"
        yield figure(charts.levels(known, "it/s"), caption)


def before_and_after(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """What the change brought in speed: two bars, and the factor. Tokens where both know them: steps may differ."""
    tokens = [(speed.get("tokens_per_second") or {}).get("trained") for speed in (before, after)]
    unit = "trained tokens/s" if all(tokens) else "it/s"
    old, new = tokens if all(tokens) else [speed.get("steps_per_second") for speed in (before, after)]
    if old and new:
        caption = f"The same workload before and after: {new / old:.2f}x"
        yield figure(charts.levels([("before", float(old)), ("after", float(new))], unit), caption)


def conditions(speed: Mapping[str, Any]) -> Iterator[str]:
    """What was timed, on what, beside whom."""
    about = speed.get("conditions", {})
    rows: list[tuple[str, object]] = [("workload", speed.get("workload")), ("precision", about.get("precision"))]
    rows += [(f"device {name}", value) for name, value in (about.get("device") or {}).items() if name != "machine"]
    rows += sorted((about.get("versions") or {}).items())
    shares = [f"{share:.0%}" for share in about.get("pressure") or () if share is not None]
    rows.append(("time in which tasks waited for a core", ", ".join(shares) or None))
    warmup = about.get("warmup") or {}
    if warmup.get("steps"):
        rows.append(
            ("warm-up", f"{warmup['steps']} steps, {warmup.get('seconds', 0.0):.1f} s: {warmup.get('reason', '')}")
        )
    yield "<h2>Conditions</h2><details open><summary>What was timed, on what</summary><div class='scroll'><table>"
    yield from (f"<tr><td>{safe(name)}</td><td>{safe(value)}</td></tr>" for name, value in rows if value is not None)
    yield "</table></div></details>"
    yield from _probes(speed.get("reference_probes") or {}, about.get("probe_ratios") or {})


def _probes(probes: Mapping[str, Mapping[str, float | None]], ratios: Mapping[str, float]) -> Iterator[str]:
    before, after = probes.get("before") or {}, probes.get("after") or {}
    if not before and not after:
        return
    yield "<details open><summary>Reference probes of this machine</summary><div class='scroll'><table>"
    yield "<tr><th>probe</th><th>before</th><th>after</th><th>of the baseline's</th></tr>"
    for name in dict.fromkeys((*before, *after)):
        ratio = f"{ratios[name]:.2f}x" if ratios.get(name) else ""
        cells = (
            name,
            *(f"{v:,.4g}" if (v := moment.get(name)) is not None else "" for moment in (before, after)),
            ratio,
        )
        yield "<tr>" + "".join(f"<td>{safe(cell)}</td>" for cell in cells) + "</tr>"
    yield "</table></div></details>"
