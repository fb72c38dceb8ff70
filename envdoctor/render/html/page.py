"""The report as one page, made of the machine-readable documents: what any tool can read, the page can show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from envdoctor import __version__
from envdoctor.render import steps
from envdoctor.render.html import charts
from envdoctor.render.html.speed import before_and_after, conditions, section
from envdoctor.render.html.style import CSS
from envdoctor.render.html.words import figure as _figure
from envdoctor.render.html.words import safe as _t

HEADLINES = {
    "healthy": ("good", "This environment is healthy"),
    "findings": ("bad", "This environment needs attention"),
    "unexplained": ("warn", "There is an error that nothing known explains"),
    "unknown": ("warn", "This environment could not be judged"),
}
WHO = {"you": "you can mend this", "image": "who builds the image can mend this", "host": "only the host can mend this"}


def page(
    check: Mapping[str, Any],
    *,
    speed: Mapping[str, Any] | None = None,
    before: Mapping[str, Any] | None = None,
    before_speed: Mapping[str, Any] | None = None,
    change: Mapping[str, Any] | None = None,
    ablation: Mapping[str, Any] | None = None,
    made: str = "",
) -> str:
    """The page of a check document, and of the others where there are any. ``before``: the check before a fix, and the
    verdict on its speed."""
    parts = [*heading(check, made)]
    if speed is not None:
        parts += section(speed)
    parts += findings(check)
    if change is not None or before is not None:
        parts += _change(check, before, change or {})
        if speed is not None and before_speed is not None:
            parts += before_and_after(before_speed, speed)
    if ablation is not None:
        parts += _ablation(ablation)
    if speed is not None:
        parts += conditions(speed)
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


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def heading(check: Mapping[str, Any], made: str) -> Iterator[str]:
    """The outcome, the environment, and what it was held against."""
    colour, headline = HEADLINES[check["outcome"]]
    environment, target = check["environment"], check["target"]
    python = environment.get("python")
    about = [environment.get("path"), f"Python {python}" if python else "Python not known"]
    about.append(f"torch {environment['torch']}" if environment.get("torch") else "torch not available")
    about += list(environment.get("gpus") or ())
    yield f'<p class="soft">envdoctor {__version__}{" · " + _t(made) if made else ""}</p>'
    yield f'<h1 class="{colour}">{headline}</h1>'
    yield f"<p>{' · '.join(_t(part) for part in about if part)}</p>"
    stack = target["stack"] or "none"
    reason = target.get("stack_reason") or ""
    held = f"target {target['name']}, stack {stack} ({reason}), speed {target['evidence']}"
    yield f'<p class="soft">{_t(held)}</p>'


def findings(check: Mapping[str, Any]) -> Iterator[str]:
    """A card for each finding; notes, and what was not judged, to be opened."""
    findings = check["findings"]
    yield f"<h2>Findings ({len(findings)})</h2>"
    for missing in check.get("unseen") or ():  # a document of an earlier version says nothing of it
        said = f"{missing['section']} could not be {missing.get('word', 'seen')}: {missing['reason']}"
        yield f'<p class="warn">{_t(said)}</p>'
    if why := check.get("unexplained"):
        said = f'This error is not explained by what envdoctor knows: "{why["line"]}". {why["help"]}'
        yield f'<p class="warn">{_t(said)}</p>'
    if not findings and check["outcome"] == "healthy":
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
        usual = f"{steps.USUAL} " if found.get("likely") else ""  # no document of an earlier version says so
        lines.append(f"<p>{_t(usual + remedy['text'])} <span class='soft'>({_t(WHO[found['who']])})</span></p>")
        ways = [(remedy["commands"], remedy.get("instead") or ())]  # the latter not of a document of an earlier version
        heading = steps.heading(yours=found["who"] == "you", likely=bool(found.get("likely")))
        told = steps.blocks(ways, heading, most=len(remedy["commands"]) + len(ways[0][1]))
        for number, block in enumerate(told):
            if number or block.heading != steps.FIXING:
                lines.append(f'<p class="soft">{_t(block.heading)}</p>')
            lines.append("<pre>" + "\n".join(_t(command) for command in block.commands) + "</pre>")
    return "".join([*lines, "</div>"])


def _change(check: Mapping[str, Any], before: Mapping[str, Any] | None, change: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Before and after</h2>"
    if before is not None:
        old = {(f["rule"], f["subject"]) for f in before["findings"] if f["severity"] != "note"}
        new = {(f["rule"], f["subject"]) for f in check["findings"] if f["severity"] != "note"}
        yield f"<p>{len(old)} errors and warnings before, {len(new)} after; {len(old - new)} repaired.</p>"
    yield from packages(change)


def packages(change: Mapping[str, Any]) -> Iterator[str]:
    """A table of a change's packages, before and after."""
    steps = change.get("packages", ())
    if steps:
        yield '<div class="scroll"><table><tr><th>package</th><th>before</th><th>after</th></tr>'
        for step in steps:
            cells = (step["name"], step["before"] or "missing", step["after"])
            yield "<tr>" + "".join(f"<td>{_t(cell)}</td>" for cell in cells) + "</tr>"
        yield "</table></div>"


def _ablation(ablation: Mapping[str, Any]) -> Iterator[str]:
    rows = ablation.get("rows", ())
    yield "<h2>What each setting is worth here</h2>"
    measured = [r for r in rows if r.get("ratio") and list(r.get("interval") or (1, 1)) != [1, 1]]  # not the reference
    drawn = [(str(r["name"]), float(r["ratio"]), (float(r["interval"][0]), float(r["interval"][1]))) for r in measured]
    yield _figure(charts.ratios(drawn), "Speed with the setting over speed without it, interleaved runs")
    yield '<div class="scroll"><table><tr><th>setting</th><th>speed</th><th>interval</th><th>memory</th><th></th></tr>'
    for row in rows:
        interval = "[{:.2f}, {:.2f}]".format(*row["interval"]) if row.get("interval") else ""
        memory = f"{row['memory'] / 1e9:.2f} GB" if row.get("memory") else ""
        speed = f"{row['ratio']:.2f}x" if row.get("ratio") else row.get("word", "")
        about = row.get("remark") or row.get("why") or ""
        cells = (row["name"], speed, interval, memory, about)
        yield "<tr>" + "".join(f"<td>{_t(cell)}</td>" for cell in cells) + "</tr>"
    yield "</table></div>"
