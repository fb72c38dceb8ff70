"""The ending of a child -> what the assistant is told: a text, a document that keeps to its schema, or why not."""

from __future__ import annotations

import json
from typing import Any

from envdoctor.assistants.bounds import fit_to_size, fitted_text
from envdoctor.assistants.tools import AssistantTool
from envdoctor.render import brief, fit
from envdoctor.system.process import Outcome
from envdoctor.values.frozen import frozen

CUT = "\n[long lists were cut to fit; `envdoctor check` in a terminal shows all]"


@frozen
class ToolAnswer:
    """``document`` is None for an answer in text, and for an error."""

    text: str
    document: dict[str, Any] | None = None
    error: bool = False


def answer(tool: AssistantTool, outcome: Outcome, *, changes: bool) -> ToolAnswer:
    """What a finished child comes to. Findings are an answer, not an error, whatever the exit code."""
    if tool.schema is None:
        return ToolAnswer(text=fitted_text(outcome.out)) if outcome.ok else refusal(outcome)
    try:
        found = json.loads(outcome.out)
    except ValueError:
        return refusal(outcome)
    if "error" in found:  # any command's failure under --format json, whatever its own schema
        return refusal(outcome)
    document, was_cut = fit_to_size(found)
    text = _text(tool, document, changes=changes)
    return ToolAnswer(text=fitted_text(text) + (CUT if was_cut else ""), document=document)


def refusal(outcome: Outcome) -> ToolAnswer:
    """Why there is no answer, in the words of the command; its progress is left out."""
    lines = [line for line in outcome.err.splitlines() if not line.startswith("... ")]
    text = "\n".join(lines[-40:]).strip()
    return ToolAnswer(text=fitted_text(text or f"envdoctor: {outcome.ending}"), error=True)


def _text(tool: AssistantTool, document: dict[str, Any], *, changes: bool) -> str:
    if tool.schema == "check":
        return brief.report(document)
    if tool.schema == "fit":
        return fit.text(document)
    if tool.schema == "fix":
        return _plan(tool, document["change"], changes=changes)
    return json.dumps(document, ensure_ascii=False)


def _plan(tool: AssistantTool, change: dict[str, Any], *, changes: bool) -> str:
    told = brief.change({"packages": [], "flags": {}, "variables": {}, **change})
    if tool.changes or change.get("plan") is None:
        return told
    how = f"call fix with plan={change['plan']}" if changes else f"run: envdoctor fix --plan {change['plan']}"
    return f"{told}\nNothing was changed. If the user agrees to exactly this, {how}"
