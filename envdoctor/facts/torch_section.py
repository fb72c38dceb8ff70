"""Torch's section of the facts, from what its probe wrote before and after each step that may take it down."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from envdoctor.facts import scrub, wire
from envdoctor.facts.endings import describe_ending
from envdoctor.facts.model import Facts, Flag, Known, Torch, Unavailable
from envdoctor.system.process import Outcome

Lines = Sequence[Mapping[str, Any]]

NOT_ASKED = Unavailable(reason="torch was not asked (--no-torch)", why="not-asked")


def add_torch(facts: Facts, outcome: Outcome | None, lines: Lines, extra_variables: Iterable[str] = ()) -> Facts:
    """Facts with torch's section, and with the variables that the environment's own start changes."""
    if outcome is None:
        return dataclasses.replace(facts, torch=NOT_ASKED)
    changed: dict[str, Any] = next((line["environ"] for line in lines if isinstance(line.get("environ"), dict)), {})
    if changed and not isinstance(facts.variables, Unavailable):
        extra = tuple(extra_variables)
        kept = {name: value for name, value in facts.variables.items() if name not in changed}
        new = {name: value for name, value in changed.items() if isinstance(value, str)}
        facts = dataclasses.replace(facts, variables={**kept, **scrub.variables(new, extra)})
    torch, notes = section(outcome, lines)
    seconds = {**facts.seconds}
    if isinstance(torch, Torch) and torch.import_seconds is not None:
        seconds["torch"] = torch.import_seconds
    return dataclasses.replace(
        facts, torch=scrub.shorten_home(torch), messages=(*facts.messages, *notes), seconds=seconds
    )


def section(outcome: Outcome, lines: Lines) -> tuple[Known[Torch], list[str]]:
    """What torch said of itself as far as it came, and the error lines that it left."""
    stage = ""
    fields: dict[str, Any] = {}
    for line in lines:
        stage = str(line.get("stage", stage))
        fields.update(line["fields"] if isinstance(line.get("fields"), dict) else {})
        if line.get("absent"):
            return Unavailable(reason="torch is not installed in this environment", why="absent"), []
        if "error" in line:
            text = scrub.text(str(line["error"]))
            return Unavailable(reason=f"import torch: {text}", why="crashed"), text.splitlines()[:40]
    if "version" not in fields:
        found = describe_ending("import torch", outcome)
        return found, [scrub.text(row) for row in outcome.err.splitlines()[-40:] if row.strip()]
    notes = [scrub.text(f"torch: {unread}") for unread in fields.pop("unread", ())]
    if stage != "done":
        found = describe_ending(stage, outcome)
        notes.append(found.reason)
        if stage == "initialising CUDA":
            fields.update(cuda_available=False, cuda_error=found.reason)
    flags = fields.pop("flags", None)
    flags = flags if isinstance(flags, dict) else {}
    if isinstance(flags.get("error"), str):
        notes.append(scrub.text(f"flags table: {flags['error']}"))
        flags = {}
    for name in ("warnings", "cuda_error", "numpy"):
        fields[name] = _scrub(fields.get(name))
    try:
        fields["warnings"] = [*(fields["warnings"] or []), *_native_warnings(outcome.err)]
        values = wire.from_json(Torch, fields)
        rows = {name: wire.from_json(Flag, row) for name, row in flags.items()}
    except (wire.WireError, TypeError) as error:
        return Unavailable(reason=f"torch: the probe's answer does not fit: {error}"), notes
    return dataclasses.replace(values, flags=rows), notes


def _scrub(value: Any) -> Any:
    if isinstance(value, list):
        return [_scrub(member) for member in value]
    return scrub.text(value) if isinstance(value, str) else value


def _native_warnings(errors: str) -> list[str]:
    """Warnings that torch's C++ side prints: ``[W1120 10:00:00.0 file.cpp:1] Warning: ...``."""
    found = [line for line in errors.splitlines() if re.match(r"\[[WE]\d* |.*Warning: ", line)]
    return [scrub.text(line.strip())[:500] for line in found[:20]]
