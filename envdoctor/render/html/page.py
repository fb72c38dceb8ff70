"""The report as one page, made of the machine-readable documents: what any tool can read, the page can show."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from envdoctor import __version__
from envdoctor.render.html import charts
from envdoctor.render.html.style import CSS
from envdoctor.scrub import printable

HEADLINES = {
    "healthy": ("good", "This environment is healthy"),
    "findings": ("bad", "This environment needs attention"),
    "unknown": ("warn", "This environment could not be judged"),
}
VERDICTS = {"as-expected": "good", "faster": "good", "slower": "bad", "unstable": "warn", "not-comparable": "warn"}
WHO = {"you": "you can mend this", "image": "who builds the image can mend this", "host": "only the host can mend this"}


def page(
    check: Mapping[str, Any],
    *,
    speed: Mapping[str, Any] | None = None,
    before: Mapping[str, Any] | None = None,
    change: Mapping[str, Any] | None = None,
    ablation: Mapping[str, Any] | None = None,
    made: str = "",
) -> str:
    """The page of a check document, and of the others where there are any. ``before``: the check before a fix."""
    parts = [*_heading(check, made)]
    if speed is not None:
        parts += _speed(speed)
    parts += _findings(check)
    if change is not None or before is not None:
        parts += _change(check, before, change or {})
    if ablation is not None:
        parts += _ablation(ablation)
    if speed is not None:
        parts += _conditions(speed)
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>envdoctor: {_t(check['outcome'])}</title>",
        f"<style>{CSS}</style>",
    ]
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        *head,
        "</head>",
        "<body><main>",
        *parts,
        "</main></body>",
    ]
    return "\n".join([*lines, "</html>"]) + "\n"


def _t(value: object) -> str:
    """Text from anywhere, safe inside HTML and free of control characters."""
    return escape(printable(str(value)))


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _heading(check: Mapping[str, Any], made: str) -> Iterator[str]:
    colour, headline = HEADLINES[check["outcome"]]
    environment, target = check["environment"], check["target"]
    about = [environment.get("path"), f"Python {environment.get('python')}"]
    about.append(f"torch {environment['torch']}" if environment.get("torch") else "torch not available")
    about += list(environment.get("gpus") or ())
    yield f'<p class="soft">envdoctor {__version__}{" · " + _t(made) if made else ""}</p>'
    yield f'<h1 class="{colour}">{headline}</h1>'
    yield f"<p>{' · '.join(_t(part) for part in about if part)}</p>"
    stack = target["stack"] or "none"
    reason = target.get("stack_reason") or ""
    held = f"target {target['name']}, stack {stack} ({reason}), speed {target['evidence']}"
    yield f'<p class="soft">{_t(held)}</p>'


def _findings(check: Mapping[str, Any]) -> Iterator[str]:
    findings = check["findings"]
    yield f"<h2>Findings ({len(findings)})</h2>"
    if not findings:
        yield '<p class="good">Nothing slows this environment down.</p>'
    root = check.get("root_cause")
    serious = [f for f in findings if f["severity"] != "note"]
    notes = [f for f in findings if f["severity"] == "note"]
    for found in sorted(serious, key=lambda f: not _is_root(f, root)):
        yield _card(found, is_root=_is_root(found, root) and any(f["symptom_of"] for f in findings))
    if notes:
        yield f"<details><summary>{_count(len(notes), 'note')}</summary>"
        yield from (_card(found, is_root=False) for found in notes)
        yield "</details>"
    if check["skipped"]:
        yield f"<details><summary>{_count(len(check['skipped']), 'rule')} not judged</summary><table>"
        yield from (f"<tr><td>{_t(s['rule'])}</td><td>{_t(s['reason'])}</td></tr>" for s in check["skipped"])
        yield "</table></details>"


def _is_root(found: Mapping[str, Any], root: Mapping[str, Any] | None) -> bool:
    return root is not None and (found["rule"], found["subject"]) == (root["rule"], root["subject"])


def _card(found: Mapping[str, Any], *, is_root: bool) -> str:
    lines = [f'<div class="card {_t(found["severity"])}">']
    root = '<span class="tag">root cause</span> ' if is_root else ""
    lines.append(f'<h3>{root}{_t(found["subject"])} <span class="tag">{_t(found["rule"])}</span></h3>')
    if found["actual"] or found["expected"]:
        expected = f' → <span class="good">{_t(found["expected"])}</span>' if found["expected"] else ""
        lines.append(f'<p><span class="bad">{_t(found["actual"] or "–")}</span>{expected}</p>')
    lines.append(f"<p>{_t(found['message'])}</p>")
    if found["symptom_of"]:
        lines.append(f'<p class="soft">follows from {_t(found["symptom_of"])}</p>')
    else:
        remedy = found["remedy"]
        lines.append(f"<p>{_t(remedy['text'])} <span class='soft'>({_t(WHO[found['who']])})</span></p>")
        if remedy["commands"]:
            lines.append("<pre>" + "\n".join(_t(command) for command in remedy["commands"]) + "</pre>")
    return "".join([*lines, "</div>"])


def _speed(speed: Mapping[str, Any]) -> Iterator[str]:
    conditions = speed.get("conditions", {})
    yield "<h2>Speed</h2>"
    yield f'<p class="{VERDICTS[speed["verdict"]]}"><b>{_t(conditions.get("sentence", speed["verdict"]))}</b></p>'
    sentence = str(conditions.get("sentence", ""))
    yield from (f"<p>{_t(reason)}</p>" for reason in conditions.get("reasons", ()) if reason not in sentence)
    yield '<div class="figures">'
    for name, value in _figures(speed):
        yield f'<div class="figure"><b>{_t(value)}</b><span class="soft">{_t(name)}</span></div>'
    yield "</div>"
    windows: Sequence[Sequence[float]] = speed.get("windows") or ()
    if windows:
        recorded = [rate for row in (speed.get("baseline") or {}).get("windows", ()) for rate in row]
        level = statistics.median(recorded) if recorded else None
        yield _figure(charts.trace(windows, level), "Steps per second, window by window")
        yield _figure(charts.distribution([rate for row in windows for rate in row]), "Distribution of window speeds")
    if any(speed.get("breakdown", {}).values()):
        caption = f"Where a step's time goes. {conditions.get('diagnosis', '')}"
        yield _figure(charts.stacked(speed["breakdown"]), caption)
    roofline = conditions.get("roofline") or {}
    rows = [
        ("this run", speed.get("steps_per_second")),
        ("limit at the achievable rate", roofline.get("limit_steps_per_second")),
    ]
    known = [(name, float(value)) for name, value in rows if value]
    if len(known) > 1:
        caption = f"Against the roofline. {conditions.get('formula') or ''} {roofline.get('source') or ''}"
        yield _figure(charts.levels(known, "it/s"), caption)


def _figures(speed: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if speed.get("steps_per_second"):
        yield "optimizer steps", f"{speed['steps_per_second']:.3g} it/s"
    tokens = speed.get("tokens_per_second") or {}
    for name in ("real", "trained"):
        if tokens.get(name):
            yield f"{name} tokens", f"{tokens[name]:,.0f}/s"
    for key, name in (("mfu", "model FLOPs utilisation"), ("of_achievable", "of the achievable rate")):
        if speed.get(key) is not None:
            yield name, f"{speed[key]:.0%}"
    if speed.get("ratio") is not None:
        low, high = speed["interval"]
        yield f"of the baseline [{low:.3f}, {high:.3f}]", f"{speed['ratio']:.3f}"
    cost = speed.get("cost")
    if cost:
        money = f", {cost['money']:.2f}" if cost.get("money") is not None else ""
        yield "your run", f"{cost['seconds'] / 3600:.2f} h{money}"


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{_t(caption)}</figcaption></figure>" if svg else ""


def _change(check: Mapping[str, Any], before: Mapping[str, Any] | None, change: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Before and after</h2>"
    if before is not None:
        old = {(f["rule"], f["subject"]) for f in before["findings"] if f["severity"] != "note"}
        new = {(f["rule"], f["subject"]) for f in check["findings"] if f["severity"] != "note"}
        yield f"<p>{len(old)} errors and warnings before, {len(new)} after; {len(old - new)} repaired.</p>"
    packages = change.get("packages", ())
    if packages:
        yield '<div class="scroll"><table><tr><th>package</th><th>before</th><th>after</th></tr>'
        for step in packages:
            cells = (step["name"], step["before"] or "missing", step["after"])
            yield "<tr>" + "".join(f"<td>{_t(cell)}</td>" for cell in cells) + "</tr>"
        yield "</table></div>"


def _ablation(ablation: Mapping[str, Any]) -> Iterator[str]:
    rows = ablation.get("rows", ())
    yield "<h2>What each setting is worth here</h2>"
    measured = [r for r in rows if r.get("ratio") and r.get("interval")]
    drawn = [(str(r["name"]), float(r["ratio"]), (float(r["interval"][0]), float(r["interval"][1]))) for r in measured]
    yield _figure(charts.ratios(drawn), "Speed with the setting over speed without it, interleaved runs")


def _conditions(speed: Mapping[str, Any]) -> Iterator[str]:
    conditions = speed.get("conditions", {})
    rows: list[tuple[str, object]] = [("workload", speed.get("workload")), ("precision", conditions.get("precision"))]
    rows += [(f"device {k}", v) for k, v in (conditions.get("device") or {}).items()]
    rows += sorted((conditions.get("versions") or {}).items())
    for moment, probes in (speed.get("reference_probes") or {}).items():
        rows += [(f"probe {moment}: {name}", f"{value:,.4g}") for name, value in probes.items() if value is not None]
    yield "<h2>Conditions</h2><details open><summary>What was timed, on what</summary><div class='scroll'><table>"
    yield from (f"<tr><td>{_t(name)}</td><td>{_t(value)}</td></tr>" for name, value in rows if value is not None)
    yield "</table></div></details>"
