"""SARIF, JUnit, annotations and Markdown as the programs that read them want them; equal facts give equal bytes."""

from __future__ import annotations

import json
import os
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.render.formats import FORMATS, render_checkup
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.checkup import Checkup
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.plan import Plan
from envdoctor.rules.rule import Severity
from envdoctor.system import process
from tests.render.checkups import checkup, healthy
from tests.render.schemas import JUNIT, SARIF
from tests.test_reports import REPORTS

ROOT = Path(__file__).resolve().parents[2]
EVERY = load_rules()


def _of_report(text: str) -> Checkup:
    facts = read(text)
    diagnosis = diagnose(facts, no_target(), EVERY)
    return Checkup(
        facts=facts, target=no_target(), target_reason="asked for", diagnosis=diagnosis, plan=Plan(), rules=EVERY
    )


EXAMPLES = [
    ("made", checkup()),
    ("healthy", healthy()),
    *((report.name, _of_report(report.text)) for report in REPORTS[::9]),
]
NAMES = [name for name, _ in EXAMPLES]


def _made(format_: str, row: int) -> str:
    _, seen = EXAMPLES[row]
    return render_checkup(format_, seen, Severity.WARNING)


@pytest.mark.parametrize("row", range(len(EXAMPLES)), ids=NAMES)
def test_sarif_keeps_to_the_standard(row: int) -> None:
    log = json.loads(_made("sarif", row))
    jsonschema.validate(log, SARIF)
    for run in log["runs"]:
        rules = run["tool"]["driver"].get("rules", [])
        ids = [rule["id"] for rule in rules]
        assert len(set(ids)) == len(ids)
        for result in run["results"]:
            assert result["ruleId"] in ids
            assert ids[result["ruleIndex"]] == result["ruleId"]
            assert result["locations"], "code scanning refuses results without a location"


@pytest.mark.parametrize("row", range(len(EXAMPLES)), ids=NAMES)
def test_junit_has_only_what_its_readers_know(row: int) -> None:
    root = ET.fromstring(_made("junit", row))
    assert root.tag in ("testsuites", "testsuite") or root[0].tag == "testsuite"
    for element in root.iter():
        required, further, children = JUNIT[element.tag]
        assert required <= set(element.attrib) <= required | further, element.tag
        assert {child.tag for child in element} <= children
        for name in ("tests", "failures", "errors", "skipped"):
            assert re.fullmatch(r"\d+", element.attrib.get(name, "0"))
        assert re.fullmatch(r"\d+(?:\.\d+)?", element.attrib.get("time", "0"))
    cases = [f"{case.get('classname')} {case.get('name')}" for case in root.iter("testcase")]
    assert len(set(cases)) == len(cases)


_ANNOTATION = re.compile(r"::(?:error|warning|notice)(?: [a-zA-Z]+=[^\r\n:,]*(?:,[a-zA-Z]+=[^\r\n:,]*)*)?::\S.*")


@pytest.mark.parametrize("row", range(len(EXAMPLES)), ids=NAMES)
def test_annotations_keep_to_the_runner_s_grammar(row: int) -> None:
    """https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions: one line each, escaped."""
    for line in _made("github", row).splitlines():
        assert _ANNOTATION.fullmatch(line), line


@pytest.mark.parametrize("row", range(len(EXAMPLES)), ids=NAMES)
def test_markdown_tables_are_rectangular(row: int) -> None:
    table: list[int] = []
    for line in [*_made("markdown", row).splitlines(), ""]:
        if line.startswith("|"):
            table.append(len(re.findall(r"(?<!\\)\|", line)))
        else:
            assert len(set(table)) <= 1, line
            table = []


_TAKEN = re.compile(r'"seconds": [\d.]+|(?<= )time="[\d.]+"|·(?: |&#160;)[\d.]+(?: |&#160;)s\b')
"""How long it took: all that may differ."""

RECORDED = ROOT / "tests" / "facts" / "machines" / "cpu-virtual-machine.json"


@pytest.mark.parametrize("format_", FORMATS)
def test_two_processes_write_the_same_bytes(format_: str, tmp_path: Path) -> None:
    """The order of sets differs between processes (PYTHONHASHSEED); nothing that is printed may follow it."""
    written = []
    for seed in ("1", "4242"):
        outcome = process.run(
            [sys.executable, "-m", "envdoctor", "check", "--facts", RECORDED, "--target", "cpu", "--format", format_],
            deadline=60,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "COLUMNS": "100"},
            cwd=tmp_path,
        )
        assert outcome.out or format_ == "github", outcome.err
        written.append(_TAKEN.sub("", outcome.out))
    assert written[0] == written[1]


def test_two_processes_diagnose_a_report_alike(tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text("\n".join(each.text for each in REPORTS[::20]), encoding="utf-8")
    written = set()
    for seed in ("1", "4242", "77"):
        outcome = process.run(
            [sys.executable, "-m", "envdoctor", "diagnose", report, "--format", "json"],
            deadline=60,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
        )
        assert outcome.out, outcome.err
        document = json.loads(outcome.out)
        document.pop("seconds", None)
        written.add(json.dumps(document))
    assert len(written) == 1
