"""SARIF 2.1.0, for code scanning services and editors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from envdoctor import __version__
from envdoctor.facts.scrub import printable
from envdoctor.rules.checkup import Checkup
from envdoctor.rules.finding import Finding, Severity
from envdoctor.rules.rule import Rule

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
VERSION = "2.1.0"


def sarif(checkup: Checkup) -> dict[str, Any]:
    """One run with one result per finding; the schema's address is left out, validators know the version."""
    index = {rule.name: number for number, rule in enumerate(checkup.rules)}
    return {
        "version": VERSION,
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "envdoctor",
                        "version": __version__,
                        "rules": [_rule(rule) for rule in checkup.rules],
                    }
                },
                "results": [_result(found, index) for found in checkup.diagnosis.findings],
                "invocations": [
                    {
                        "executionSuccessful": not any(_failures(checkup)),
                        "toolExecutionNotifications": [
                            {"level": "error", "message": {"text": plain(text)}} for text in _failures(checkup)
                        ],
                    }
                ],
            }
        ],
    }


def _failures(checkup: Checkup) -> Iterator[str]:
    for crashed in checkup.diagnosis.crashed:
        yield f"{crashed.rule}: {crashed.error}"
    for missing in checkup.diagnosis.unseen:
        yield f"{missing.text}: {missing.reason}"
    if checkup.diagnosis.unexplained is not None:
        yield checkup.diagnosis.unexplained.sentence


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
    location: dict[str, Any] = {"logicalLocations": [{"name": printable(found.subject), "kind": "resource"}]}
    if path is not None:
        location = {
            "physicalLocation": {
                "artifactLocation": {"uri": quote(printable(path), safe="/~")},
                "region": {"startLine": line or 1},
            },
            **location,
        }
    result: dict[str, Any] = {
        "ruleId": found.rule,
        "level": LEVELS[found.severity or Severity.NOTE],
        "message": {"text": plain(text)},
        "locations": [location],
        "partialFingerprints": {"finding/v1": printable(found.identity)},
        "properties": {
            "kind": found.kind,
            "actual": printable(found.actual),
            "expected": printable(found.expected),
            "who": found.who,
        },
    }
    if found.rule in index:
        result["ruleIndex"] = index[found.rule]
    return result


def plain(text: str) -> str:
    """A message as nothing but text: brackets would make links of it (SARIF 2.1.0, 3.11.6), braces placeholders."""
    marked = re.sub(r"[\\\[\]]", r"\\\g<0>", printable(text))
    return marked.replace("{", "{{").replace("}", "}}")


def place(found: Finding) -> tuple[str | None, int | None]:
    """File and line of a finding about a script or an image file, whose subject is ``path:line``, or that and what on
    this line it is about; otherwise (None, None)."""
    parts = re.fullmatch(r"(.+?):(\d+)(?: .*)?", found.subject, re.DOTALL)
    if found.rule.startswith(("script/", "image/")) and parts is not None:
        return parts[1], int(parts[2])
    return None, None
