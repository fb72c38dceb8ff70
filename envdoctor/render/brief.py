"""A check document as text, where only the document is there: what a program, a notebook or an assistant was given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from envdoctor.facts.scrub import printable
from envdoctor.render import steps
from envdoctor.render.page import Line, command, laid_out, line

MARKS = {"error": "✗", "warning": "!", "note": "·"}
ENDINGS = {
    "healthy": "✓ Healthy: nothing slows this environment down",
    "findings": "✗ This environment needs attention",
    "unexplained": "? There is an error text that nothing known explains",
    "unknown": "? Not known: something that a clean bill of health needs could not be seen",
}
SHOWN = 12  # subjects of one rule


def report(check: Mapping[str, Any], notices: Sequence[str] = ()) -> str:
    """The environment, what was found rule by rule, what to do, and the outcome; no colours, no trailing newline."""
    return laid_out([*(line(f"! {notice}") for notice in notices), *_lines(check)]).rstrip()


def change(document: Mapping[str, Any], notices: Sequence[str] = ()) -> str:
    """A change, made or planned, package by package."""
    steps = document["packages"]
    word = "Changed" if document["changed"] else "Would be changed" if steps else "Nothing to change"
    lines = [*(line(f"! {notice}") for notice in notices), line(f"{word}: {len(steps)} packages" if steps else word)]
    lines += [
        line(f"{step['name']}  {step['before'] or 'missing'} → {step['after'] or 'removed'}", indent=2)
        for step in steps
    ]
    for name, value in {**document["flags"], **document["variables"]}.items():
        lines.append(line(f"{name} {'removed' if value is None else f'= {value}'}", indent=2))
    return laid_out(lines).rstrip()


def _lines(check: Mapping[str, Any]) -> Iterator[Line]:
    environment, target = check["environment"], check["target"]
    torch = f"torch {environment['torch']}" if environment["torch"] else "torch not available"
    python = f"Python {environment['python']}" if environment["python"] else "Python not known"
    about = (environment["path"], python, torch, *(environment.get("gpus") or ()))
    yield line(printable(" · ".join(part for part in about if part)))
    yield line(printable(f"target {target['name']} ({target['reason']}), stack {target['stack'] or 'none'}"))
    for (rule, severity), group in groupby(check["findings"], key=lambda found: (found["rule"], found["severity"])):
        yield from _block(rule, severity, list(group), check["root_cause"])
    for missing in check["unseen"]:
        yield line(f"? {missing['section']} not seen: {printable(missing['reason'])}")
    if why := check.get("unexplained"):
        yield line(f'? not explained: "{printable(why["line"])}". {printable(why["help"])}')
    for crashed in check["crashed"]:
        yield line(f"? {crashed['rule']} failed to judge: {printable(crashed['error'])}")
    yield line(ENDINGS[check["outcome"]])


def _block(
    rule: str, severity: str, group: Sequence[Mapping[str, Any]], root: Mapping[str, Any] | None
) -> Iterator[Line]:
    cause = root is not None and root["rule"] == rule and any(found["subject"] == root["subject"] for found in group)
    yield line(f"{MARKS.get(severity, '·')} {rule}{' (root cause)' if cause else ''}")
    for found in group[:SHOWN]:
        yield line(printable(f"{found['subject']}: {found['message']}"), indent=4)
    if len(group) > SHOWN:
        yield line(f"... and {len(group) - SHOWN} more", indent=4)
    if all(found["symptom_of"] for found in group):
        return
    texts = list(dict.fromkeys(found["remedy"]["text"] for found in group))
    alone = {found["remedy"]["text"] for found in group if not found["remedy"]["commands"]}
    unsure = {found["remedy"]["text"] for found in group if found.get("likely")}
    for text in [text for text in texts if len(texts) == 1 or text in alone][:SHOWN]:  # else a command does it
        yield line(f"→ {f'{steps.USUAL} ' if text in unsure else ''}{printable(text)}", indent=4)
    remedies = [(found["remedy"]["commands"], found["remedy"].get("instead") or ()) for found in group]
    yours, likely = any(found.get("who") == "you" for found in group), any(found.get("likely") for found in group)
    for block in steps.blocks(remedies, steps.heading(yours=yours, likely=likely), most=SHOWN):
        yield line(block.heading, indent=4)
        yield from (command(f"  {printable(one)}", indent=4) for one in block.commands)
