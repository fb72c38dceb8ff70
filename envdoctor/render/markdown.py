"""Markdown, for a pull request comment or a step summary."""

from __future__ import annotations

from envdoctor.examination import Examination
from envdoctor.render.document import document
from envdoctor.rule import Severity
from envdoctor.scrub import printable

MARKS = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.NOTE: "ℹ️"}
HEADINGS = {
    "healthy": "✅ environment is healthy",
    "findings": "❌ environment needs attention",
    "unknown": "❔ environment could not be judged",
}


def markdown(examination: Examination) -> str:
    """A heading, the root cause, a table of findings and the commands that mend them."""
    data = document(examination)
    target = data["target"]
    environment = data["environment"]
    lines = [f"### envdoctor: {HEADINGS[data['outcome']]}", ""]
    about = [f"target `{target['name']}`", f"stack `{target['stack'] or 'none'}`", f"speed {target['evidence']}"]
    if environment.get("python"):
        about.append(f"Python {environment['python']}")
    if environment.get("torch"):
        about.append(f"torch {_cell(environment['torch'])}")
    lines += [" · ".join(about), ""]
    root = examination.diagnosis.root_cause
    if root is not None:
        lines += [f"**Fix first:** {_cell(root.message)} (`{root.rule}`)", ""]
    findings = examination.diagnosis.findings
    if findings:
        lines += ["| | subject | found | expected | what it means | who |", "|---|---|---|---|---|---|"]
        for found in findings:
            mark = MARKS[found.severity or Severity.NOTE]
            cells = (found.subject, found.actual, found.expected, found.message, found.who)
            lines.append(f"| {mark} | " + " | ".join(_cell(cell) for cell in cells) + " |")
        lines.append("")
    commands = dict.fromkeys(c for f in findings if f.symptom_of is None for c in f.remedy.commands)
    if commands:
        lines += ["```sh", *(printable(command) for command in commands), "```", ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    escaped = printable(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return escaped or "–"
