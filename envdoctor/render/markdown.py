"""Markdown, for a pull request comment or a step summary.

What it says came from outside: a package's metadata, a driver, a pasted report. Whoever wrote that must not get a live
link, a picture, HTML or a mention of somebody into a comment that is posted under another name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from envdoctor.facts.scrub import printable
from envdoctor.render import steps
from envdoctor.render.document import document
from envdoctor.rules.checkup import Checkup
from envdoctor.rules.finding import Severity

MARKS = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.NOTE: "ℹ️"}
HEADINGS = {
    "healthy": "✅ environment is healthy",
    "findings": "❌ environment needs attention",
    "unexplained": "❔ an error could not be explained",
    "unknown": "❔ environment could not be judged",
}


def markdown(checkup: Checkup) -> str:
    """A heading, the root cause, a table of findings and the commands that mend them."""
    data = document(checkup)
    target = data["target"]
    environment = data["environment"]
    lines = [f"### envdoctor: {HEADINGS[data['outcome']]}", ""]
    about = [
        f"target {_code(target['name'])}",
        f"stack {_code(target['stack'] or 'none')}",
        f"speed {target['evidence']}",
    ]
    if environment.get("python"):
        about.append(f"Python {_cell(environment['python'])}")
    if environment.get("torch"):
        about.append(f"torch {_cell(environment['torch'])}")
    lines += [" · ".join(about), ""]
    for missing in checkup.diagnosis.unseen:
        lines += [f"**Not {missing.word}:** {_cell(missing.section)}: {_cell(missing.reason)}", ""]
    if checkup.diagnosis.unexplained is not None:
        lines += [f"**Not explained:** {_cell(checkup.diagnosis.unexplained.sentence)}", ""]
    root = checkup.diagnosis.root_cause
    if root is not None:
        lines += [f"**Fix first:** {_cell(root.message)} ({_code(root.rule)})", ""]
    findings = checkup.diagnosis.findings
    if findings:
        lines += ["| | subject | found | expected | what it means | who |", "|---|---|---|---|---|---|"]
        for found in findings:
            mark = MARKS[found.severity or Severity.NOTE]
            cells = (found.subject, found.actual, found.expected, found.message, found.who)
            lines.append(f"| {mark} | " + " | ".join(_cell(cell) for cell in cells) + " |")
        lines.append("")
    causes = [f for f in findings if f.symptom_of is None]
    ways = [(f.remedy.commands, f.remedy.instead) for f in causes]
    first, most = steps.heading(yours=True, likely=any(f.likely for f in causes)), sum(len(a) + len(b) for a, b in ways)
    for number, block in enumerate(steps.blocks(ways, first, most=most)):
        shown = [printable(command) for command in block.commands]
        fence = "`" * max(3, _longest_run(shown) + 1)
        heading = [block.heading, ""] if number or block.heading != steps.FIXING else []
        lines += [*heading, f"{fence}sh", *shown, fence, ""]
    return "\n".join(lines)


_MARKS = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])")
_ACTIVE = re.compile(r"@(?=\S)|:(?=//)|\bwww(?=\.)|\bmailto(?=:)|#(?=\d)", re.IGNORECASE)
"""What becomes a mention, a link or a reference without any marks: a space of no width after it keeps it text."""


def _cell(text: str) -> str:
    """Text from anywhere as nothing but text, in one line and one cell."""
    plain = _MARKS.sub(r"\\\g<0>", printable(text))
    escaped = plain.replace("&", "&amp;").replace("<", "&lt;")
    return _ACTIVE.sub(r"\g<0>&#8203;", escaped) or "–"


def _code(text: str) -> str:
    """Text in a code span, where nothing else has a meaning but backticks, and bars in tables."""
    plain = printable(text).replace("|", "\u2502")
    fence = "`" * (_longest_run([plain]) + 1)
    space = " " if "`" in plain else ""
    return f"{fence}{space}{plain}{space}{fence}"


def _longest_run(texts: Iterable[str]) -> int:
    """Of backticks."""
    return max((len(run) for text in texts for run in re.findall("`+", text)), default=0)
