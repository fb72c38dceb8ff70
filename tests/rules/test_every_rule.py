"""What holds for every rule: it documents itself, accuses nobody without facts, leaves a healthy machine alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, replace

import pytest

from envdoctor.facts.model import Driver, Facts, Gpus, Host, Interpreter, Network, Origin, Packages, Torch, Unavailable
from envdoctor.locks.target import Target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.rule import Rule, Severity
from tests.rules.judging import NOTHING
from tests.rules.machines import CPU, CPU_TARGET, H100, H100_TARGET

RULES = load_rules()
EMPTY = Facts(
    interpreter=Interpreter(version="3.12.1"),
    packages=Packages(),
    variables={},
    host=Host(),
    driver=Driver(),
    gpus=Gpus(),
    torch=Torch(version="2.13.0"),
    extensions=(),
    network=Network(),
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_documents_itself(rule: Rule) -> None:
    assert rule.title
    assert len(rule.title) < 120
    assert set(rule.sections) == {"Why", "Fix", "Source"}, rule.name
    assert re.search(r"https://\S+|target|envdoctor", rule.sections["Source"]), f"{rule.name} cites nothing"


def loud(facts: Facts, target: Target) -> list[str]:
    diagnosis = diagnose(facts, target, RULES)
    assert not diagnosis.crashed, diagnosis.crashed
    return [f"{f.rule}: {f.message}" for f in diagnosis.at_least(Severity.WARNING)]


@pytest.mark.parametrize(
    ("facts", "target"),
    [(H100, H100_TARGET), (CPU, CPU_TARGET), (H100, NOTHING), (CPU, NOTHING)],
    ids=["H100", "CPU", "H100 without a target", "CPU without a target"],
)
def test_a_healthy_machine_has_no_warnings_and_no_errors(facts: Facts, target: Target) -> None:
    assert loud(facts, target) == []


@pytest.mark.parametrize("target", [NOTHING, CPU_TARGET], ids=["no target", "CPU"])
def test_nothing_known_is_nothing_found(target: Target) -> None:
    assert loud(Facts(), target) == []


def with_one_section_missing() -> Iterator[tuple[str, Facts, Target]]:
    for facts, target in ((H100, H100_TARGET), (CPU, CPU_TARGET)):
        for field in fields(Facts):
            if isinstance(getattr(EMPTY, field.name), (str, tuple)) and field.name in ("scripts", "images", "messages"):
                continue
            if field.name in ("origin", "remarks", "seconds"):
                continue
            gone = replace(facts, **{field.name: Unavailable(reason="not looked at", why="not-asked")})
            yield f"{target.name} without {field.name}", gone, target


@pytest.mark.parametrize(
    ("facts", "target"),
    [(facts, target) for _, facts, target in with_one_section_missing()],
    ids=[name for name, _, _ in with_one_section_missing()],
)
def test_a_section_that_was_not_read_accuses_nobody(facts: Facts, target: Target) -> None:
    assert loud(facts, target) == []


@pytest.mark.parametrize("target", [NOTHING, CPU_TARGET, H100_TARGET], ids=lambda target: target.name)
def test_sections_full_of_unknowns_crash_no_rule(target: Target) -> None:
    for kind in ("probe", "pasted", "recorded"):
        diagnosis = diagnose(replace(EMPTY, origin=Origin(kind=kind)), target, RULES)  # type: ignore[arg-type]
        assert not diagnosis.crashed, diagnosis.crashed


def test_explanations_name_rules_that_exist() -> None:
    from pathlib import Path

    import envdoctor.rules

    names = {rule.name for rule in RULES} | {f"{rule.family}/" for rule in RULES}
    families = {rule.family for rule in RULES}
    for path in Path(envdoctor.rules.__path__[0]).rglob("*.py"):
        for block in re.findall(r"explains=\(?([^=]*?)(?:,\n\s+\w+=|\)\n)", path.read_text("utf-8")):
            for name in re.findall(r'"([a-z]+/[a-z0-9-]*)[" ]', block):
                if name.partition("/")[0] in families:
                    assert name in names, f"{path.name} explains {name}, which is no rule"
