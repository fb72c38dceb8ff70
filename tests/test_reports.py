"""Short reports of every kind and format, with the root cause that each must be given.

`reports.txt` holds them, one after "=== NAME KIND [SOURCE]". Those with a source tell the facts of a thread in our own
words, with its error lines; the others were made up after what such reports look like.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from envdoctor.facts.model import Facts
from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import Diagnosis, diagnose
from envdoctor.rules.rule import Finding, Severity
from tests.test_cases import FOLDER

SHARED = """
    driver-too-old driver-library-mismatch torch-cpu-only no-kernels-for-gpu cuda-init-failed gpu-not-visible
    cudnn-mismatch cuda-libraries-mixed nvcc-mismatch torch-pair-mismatch triton-mismatch extension-abi-mismatch
    extension-binary-missing numpy-abi package-conflict python-unsupported known-broken-version known-slow-version
    debug-variable tf32-api-mixed shm-too-small file-limit thread-count slow-interconnect config-mismatch healthy
    unexplained script-wrong package-missing host-limited not-judged
""".split()


class Report(NamedTuple):
    name: str
    kind: str
    source: str
    text: str


def _reports() -> list[Report]:
    text = (FOLDER.parent / "reports.txt").read_text(encoding="utf-8")
    heads = list(re.finditer(r"^=== (\S+) (\S+)(?: (\S+))?\n", text, re.MULTILINE))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [Report(h[1], h[2], h[3] or "", text[h.end() : end]) for h, end in zip(heads, ends, strict=True)]


REPORTS = _reports()
RULES = load_rules()


def _judged(text: str) -> Diagnosis:
    return diagnose(read(text), no_target(), RULES)


def _verdict(diagnosis: Diagnosis) -> str:
    if diagnosis.unexplained is not None:
        return "unexplained"
    if diagnosis.root_cause is not None:
        return diagnosis.root_cause.kind
    return "errors" if diagnosis.at_least(Severity.ERROR) else "healthy"


def _named(finding: Finding) -> str:
    return f"{finding.rule}: {finding.message}"


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_the_root_cause_is_found(report: Report) -> None:
    diagnosis = _judged(report.text)
    assert diagnosis.crashed == ()
    assert _verdict(diagnosis) == report.kind, [_named(finding) for finding in diagnosis.at_least(Severity.WARNING)]


@pytest.mark.parametrize("report", [r for r in REPORTS if r.kind == "healthy"], ids=lambda report: report.name)
def test_a_healthy_report_gets_no_warning(report: Report) -> None:
    assert [_named(finding) for finding in _judged(report.text).at_least(Severity.WARNING)] == []


WAYS: dict[str, Callable[[str], str]] = {
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    "indented": lambda text: "".join(f"    {line}\n" for line in text.splitlines()),
    "fenced": lambda text: f"### System info\n\n```shell\n{text}```\n\nThanks in advance!\n",
    "details": lambda text: f"<details><summary>env</summary>\n\n```\n{text}```\n</details>\n",
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
}
ALL = [(report, way) for report in REPORTS for way in WAYS]


def _unchanged(report: Report, way: str) -> None:
    assert _verdict(_judged(WAYS[way](report.text))) == report.kind, way


@pytest.mark.parametrize(("report", "way"), ALL[::6], ids=lambda value: getattr(value, "name", value))
def test_the_way_of_pasting_changes_nothing(report: Report, way: str) -> None:
    _unchanged(report, way)


@pytest.mark.slow
@pytest.mark.parametrize(("report", "way"), ALL, ids=lambda value: getattr(value, "name", value))
def test_no_way_of_pasting_changes_anything(report: Report, way: str) -> None:
    _unchanged(report, way)


def test_every_kind_and_many_formats_are_there() -> None:
    kinds = Counter(report.kind for report in REPORTS)
    assert set(kinds) == set(SHARED)
    assert min(kinds.values()) >= 3
    formats: set[str] = set()
    for report in REPORTS:
        facts: Facts = read(report.text)
        formats |= set(facts.origin.formats)
    wanted = {"collect_env", "vllm", "transformers-env", "accelerate-env", "ds_report", "nvidia-smi", "xformers-info"}
    assert wanted | {"pip", "conda-list", "bitsandbytes", "lightning-env"} <= formats


def test_no_report_is_told_twice() -> None:
    assert len({report.name for report in REPORTS}) == len(REPORTS)
    assert len({report.text for report in REPORTS}) == len(REPORTS)
    assert Path(FOLDER.parent / "reports.txt").stat().st_size < 200_000
