"""The machine-readable border (schema 1): the one dict from which JSON and the other formats are made."""

from __future__ import annotations

from typing import Any

from envdoctor import __version__
from envdoctor.facts.model import Interpreter, Torch, Unavailable
from envdoctor.locks.target import Target
from envdoctor.rules.checkup import Checkup
from envdoctor.rules.finding import Finding

SCHEMA = 1


def document(checkup: Checkup) -> dict[str, Any]:
    """``check | diagnose --format json``. Equal facts give equal documents, but for ``seconds``."""
    diagnosis = checkup.diagnosis
    root, why = diagnosis.root_cause, diagnosis.unexplained
    return {
        "schema": SCHEMA,
        "tool": {"name": "envdoctor", "version": __version__},
        "environment": environment(checkup),
        "target": target(checkup.target, checkup.target_reason),
        "outcome": diagnosis.outcome,
        "root_cause": None if root is None else {"rule": root.rule, "kind": root.kind, "subject": root.subject},
        "findings": [finding(found) for found in diagnosis.findings],
        "skipped": [{"rule": skipped.rule, "reason": skipped.reason} for skipped in diagnosis.skipped],
        "crashed": [{"rule": crashed.rule, "error": crashed.error} for crashed in diagnosis.crashed],
        "unseen": [
            {"section": missing.section, "reason": missing.reason, "word": missing.word} for missing in diagnosis.unseen
        ],
        "unexplained": None if why is None else {"line": why.line, "help": why.help},
        "seconds": round(checkup.seconds, 3),
    }


def environment(checkup: Checkup) -> dict[str, Any]:
    facts = checkup.facts
    known: dict[str, Any] = {"path": facts.origin.environment, "origin": facts.origin.kind}
    match facts.interpreter:
        case Interpreter(version=version, executable=executable):
            known |= {"python": version, "executable": executable}
        case Unavailable(reason=reason):
            known |= {"python": None, "unavailable": reason}
    match facts.torch:
        case Torch(version=version, cuda=cuda):
            known |= {"torch": version, "cuda": cuda or None}
        case Unavailable(reason=reason, why=why):
            known |= {"torch": None, "torch_unavailable": {"reason": reason, "why": why}}
    if not isinstance(facts.gpus, Unavailable):
        known["gpus"] = [gpu.name for gpu in facts.gpus.devices]
    return known


def target(chosen: Target, reason: str) -> dict[str, Any]:
    choice = chosen.choice
    return {
        "name": chosen.name,
        "title": chosen.title,
        "reason": reason,
        "stack": choice.stack if choice else None,
        "stack_reason": choice.reason if choice else chosen.no_choice,
        "evidence": chosen.evidence(),
    }


def finding(found: Finding) -> dict[str, Any]:
    return {
        "rule": found.rule,
        "kind": found.kind,
        "severity": found.severity.word if found.severity else None,
        "subject": found.subject,
        "actual": found.actual,
        "expected": found.expected,
        "message": found.message,
        "who": found.who,
        "remedy": {
            "text": found.remedy.text,
            "commands": list(found.remedy.commands),
            "instead": list(found.remedy.instead),
        },
        "likely": found.likely,
        "symptom_of": found.symptom_of,
        "fixable": bool(found.repair),
        "rows": [{"subject": row.subject, "actual": row.actual, "expected": row.expected} for row in found.rows],
        "source": found.source,
    }
