"""SARIF 2.1.0, for code scanning services and editors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from envdoctor import __version__
from envdoctor.examination import Examination
from envdoctor.rule import Finding, Rule, Severity

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
VERSION = "2.1.0"


def sarif(examination: Examination, rules: Sequence[Rule]) -> dict[str, Any]:
    """One run with one result per finding; the schema's address is left out, validators know the version."""
    index = {rule.name: number for number, rule in enumerate(rules)}
    return {
        "version": VERSION,
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "envdoctor",
                        "version": __version__,
                        "rules": [_rule(rule) for rule in rules],
                    }
                },
                "results": [_result(found, index) for found in examination.diagnosis.findings],
                "invocations": [
                    {
                        "executionSuccessful": not examination.diagnosis.crashed,
                        "toolExecutionNotifications": [
                            {"level": "error", "message": {"text": f"{crashed.rule}: {crashed.error}"}}
                            for crashed in examination.diagnosis.crashed
                        ],
                    }
                ],
            }
        ],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    sections = rule.sections
    return {
        "id": rule.name,
        "name": rule.name.replace("/", "-"),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": sections.get("Why", rule.title)},
        "help": {"text": sections.get("Fix", rule.title)},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
    }


def _result(found: Finding, index: dict[str, int]) -> dict[str, Any]:
    text = found.message if found.symptom_of is None else f"{found.message} (follows from {found.symptom_of})"
    path, line = place(found)
    location: dict[str, Any] = {"logicalLocations": [{"name": found.subject, "kind": "resource"}]}
    if path is not None:
        location = {
            "physicalLocation": {"artifactLocation": {"uri": path}, "region": {"startLine": line or 1}},
            **location,
        }
    result: dict[str, Any] = {
        "ruleId": found.rule,
        "level": LEVELS[found.severity or Severity.NOTE],
        "message": {"text": text},
        "locations": [location],
        "partialFingerprints": {"finding/v1": found.identity},
        "properties": {"kind": found.kind, "actual": found.actual, "expected": found.expected, "who": found.who},
    }
    if found.rule in index:
        result["ruleIndex"] = index[found.rule]
    return result


def place(found: Finding) -> tuple[str | None, int | None]:
    """File and line of a finding about a script (its subject is ``path:line``); otherwise (None, None)."""
    path, colon, line = found.subject.rpartition(":")
    if found.rule.startswith("script/") and colon and line.isdigit():
        return path, int(line)
    return None, None
