"""JUnit XML: every rule is a test case, so that CI dashboards show the doctor as they show tests."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from envdoctor.examination import Examination
from envdoctor.rule import Rule, Severity
from envdoctor.scrub import printable


def junit(examination: Examination, rules: Sequence[Rule], fail_on: Severity | None) -> str:
    """A rule fails when it found something at or above ``fail_on``; a rule that crashed is an error."""
    diagnosis = examination.diagnosis
    skipped = {entry.rule: entry.reason for entry in diagnosis.skipped}
    crashed = {entry.rule: entry.error for entry in diagnosis.crashed}
    failures = 0
    suite = ET.Element("testsuite", name="envdoctor", tests=str(len(rules)))
    for rule in rules:
        case = ET.SubElement(suite, "testcase", classname=f"envdoctor.{rule.family}", name=rule.name, time="0")
        found = [f for f in diagnosis.findings if f.rule == rule.name]
        failing = [f for f in found if fail_on is not None and (f.severity or 0) >= fail_on]
        if rule.name in crashed:
            ET.SubElement(case, "error", message=printable(crashed[rule.name]), type="crashed")
        elif rule.name in skipped:
            ET.SubElement(case, "skipped", message=printable(skipped[rule.name]))
        elif failing:
            failures += 1
            first = failing[0]
            failure = ET.SubElement(case, "failure", message=printable(first.message), type=first.kind)
            failure.text = "\n".join(
                printable(f"{f.subject}: {f.actual} -> {f.expected}. {f.message} {f.remedy.text}") for f in failing
            )
        elif found:
            out = ET.SubElement(case, "system-out")
            out.text = "\n".join(printable(f"{f.subject}: {f.message}") for f in found)
    suite.set("failures", str(failures))
    suite.set("errors", str(len(crashed)))
    suite.set("skipped", str(len(skipped)))
    suite.set("time", f"{examination.seconds:.3f}")
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
