"""Every format against its schema or golden, and what must never get through: escapes and broken tables."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from envdoctor.commands._show import plain
from envdoctor.render.formats import FORMATS, default_format, render_checkup
from envdoctor.rules.rule import Finding, Remedy, Severity
from tests.render.checkups import RULES, checkup, healthy

GOLDENS = Path(__file__).parent / "goldens"

FINDING = {
    "type": "object",
    "required": ["rule", "kind", "severity", "subject", "actual", "expected", "message", "who", "remedy", "symptom_of"],
    "properties": {
        "rule": {"type": "string", "pattern": "^[a-z]+/[a-z0-9-]+$"},
        "severity": {"enum": ["error", "warning", "note"]},
        "who": {"enum": ["you", "image", "host"]},
        "remedy": {
            "type": "object",
            "required": ["text", "commands"],
            "properties": {"commands": {"type": "array", "items": {"type": "string"}}},
        },
        "symptom_of": {"type": ["string", "null"]},
    },
}
CHECK = {
    "type": "object",
    "required": ["schema", "tool", "environment", "target", "outcome", "root_cause", "findings", "skipped", "crashed"],
    "properties": {
        "schema": {"const": 1},
        "outcome": {"enum": ["healthy", "findings", "unexplained", "unknown"]},
        "root_cause": {"anyOf": [{"type": "null"}, {"type": "object", "required": ["rule", "kind", "subject"]}]},
        "findings": {"type": "array", "items": FINDING},
        "target": {
            "type": "object",
            "properties": {"evidence": {"enum": ["measured", "derived", "claimed", "none"]}},
            "required": ["name", "stack", "evidence"],
        },
    },
}


def made(format_: str) -> str:
    if format_ == "text":
        return plain(checkup(), verbose=False)
    return render_checkup(format_, checkup(), Severity.WARNING)


@pytest.mark.parametrize("format_", FORMATS)
def test_goldens(format_: str, pytestconfig: pytest.Config) -> None:
    golden = GOLDENS / f"report.{format_}"
    text = made(format_)
    if pytestconfig.getoption("--rewrite-goldens"):
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8"), f"pytest {__file__} --rewrite-goldens, then read the difference"


@pytest.mark.parametrize("format_", FORMATS)
def test_equal_examinations_give_equal_bytes(format_: str) -> None:
    assert made(format_) == made(format_)


@pytest.mark.parametrize("format_", FORMATS)
def test_no_terminal_escape_gets_through(format_: str) -> None:
    assert "\x1b" not in json.dumps(made(format_)).replace("\\u001b", "\x1b") or format_ in ("json", "sarif")


def test_json_keeps_to_its_schema() -> None:
    jsonschema.validate(json.loads(made("json")), CHECK)


def test_sarif_has_what_the_standard_demands() -> None:
    log = json.loads(made("sarif"))
    (run,) = log["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert log["version"] == "2.1.0"
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
    script = next(r for r in run["results"] if r["ruleId"] == "script/debug-settings")
    place = script["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("train.py", 12)
    assert run["invocations"][0]["executionSuccessful"] is False


def test_junit_counts_what_it_holds() -> None:
    (suite,) = ET.fromstring(made("junit"))
    cases = list(suite)
    assert int(suite.attrib["tests"]) == len(cases) == len(RULES)
    assert int(suite.attrib["failures"]) == sum(case.find("failure") is not None for case in cases) == 4
    assert int(suite.attrib["errors"]) == sum(case.find("error") is not None for case in cases) == 1
    assert int(suite.attrib["skipped"]) == sum(case.find("skipped") is not None for case in cases) == 1


def test_annotations_are_one_line_each_and_leave_symptoms_to_the_summary() -> None:
    lines = made("github").splitlines()
    assert all(line.startswith(("::error ", "::warning ")) for line in lines)
    assert any("file=train.py,line=12," in line for line in lines)
    assert not any("torch/cuda-unavailable" in line for line in lines)


def test_markdown_tables_do_not_break() -> None:
    rows = [line for line in made("markdown").splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {7}


def test_the_healthy_report_is_short() -> None:
    text = plain(healthy(), verbose=False)
    assert "Healthy" in text
    assert len(text.splitlines()) < 8


def test_healthy_without_the_gpu_is_not_healthy_without_reserve() -> None:
    missing = Finding(
        kind="gpu-not-visible",
        subject="GPU",
        actual="none here",
        expected="NVIDIA H100",
        message="There is no NVIDIA GPU here.",
        remedy=Remedy(text="Check again where the GPU is."),
        severity=Severity.NOTE,
        rule="driver/nothing-found",
    )
    found = healthy()
    assert "as far as can be told" not in plain(found, verbose=False)
    noted = replace(found, diagnosis=replace(found.diagnosis, findings=(missing,)))
    assert "✓ Healthy, as far as can be told without the GPU" in plain(noted, verbose=False)


def test_github_actions_get_annotations_by_themselves() -> None:
    assert default_format({"GITHUB_ACTIONS": "true"}) == "github"
    assert default_format({}) == "text"
