"""GitHub Actions: one annotation per finding on stdout; the step summary is the Markdown report."""

from __future__ import annotations

from envdoctor.facts.scrub import printable
from envdoctor.render.sarif import place
from envdoctor.rules.checkup import Checkup
from envdoctor.rules.finding import Severity

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def github(checkup: Checkup) -> str:
    """Workflow commands, one line each. Symptoms are left to the summary: an annotation should be worth a click."""
    lines = []
    for found in checkup.diagnosis.findings:
        if found.symptom_of is not None or found.severity is Severity.NOTE:
            continue
        path, line = place(found)
        where = f"file={_property(path)},line={line}," if path else ""
        change = f" ({found.actual} -> {found.expected})" if found.actual and found.expected else ""
        text = f"{found.subject}{change}: {found.message} {found.remedy.text}".strip()
        command = COMMANDS[found.severity or Severity.NOTE]
        lines.append(f"::{command} {where}title={_property(found.rule)}::{_data(text)}")
    unseen = (f"{one.text}: {one.reason}" for one in checkup.diagnosis.unseen)
    lines += [f"::error title=not judged::{_data(text)}" for text in unseen]
    if checkup.diagnosis.unexplained is not None:
        lines.append(f"::error title=not explained::{_data(checkup.diagnosis.unexplained.sentence)}")
    return "\n".join(lines) + ("\n" if lines else "")


def _data(text: str) -> str:
    return printable(text, keep_lines=True).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
