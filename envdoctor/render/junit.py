"""JUnit XML: every rule is a test case, so that CI dashboards show the doctor as they show tests."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from envdoctor.facts.scrub import printable
from envdoctor.rules.checkup import Checkup
from envdoctor.rules.finding import Severity


def junit(checkup: Checkup, fail_on: Severity | None) -> str:
    """A rule fails when it found something at or above ``fail_on``; a rule that crashed is an error."""
    diagnosis = checkup.diagnosis
    skipped = {entry.rule: entry.reason for entry in diagnosis.skipped}
    crashed = {entry.rule: entry.error for entry in diagnosis.crashed}
    failures = 0
    suite = ET.Element("testsuite", name="envdoctor", tests="")
    for rule in checkup.rules:
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
    for missing in diagnosis.unseen:
        case = ET.SubElement(suite, "testcase", classname="envdoctor.facts", name=f"facts/{missing.section}", time="0")
        ET.SubElement(case, "error", message=printable(f"could not be {missing.word}: {missing.reason}"), type="unseen")
    if diagnosis.unexplained is not None:
        case = ET.SubElement(suite, "testcase", classname="envdoctor.facts", name="facts/error", time="0")
        ET.SubElement(case, "error", message=printable(diagnosis.unexplained.sentence), type="unexplained")
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(failures))
    suite.set("errors", str(len(crashed) + len(diagnosis.unseen) + (diagnosis.unexplained is not None)))
    suite.set("skipped", str(len(skipped)))
    suite.set("time", f"{checkup.seconds:.3f}")
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
