"""The published schemas are those of our classes, and the commands' real documents keep to them."""

from __future__ import annotations

import json
import sys
import venv
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from envdoctor.api.answers import Change, Failure, Gate, Report, Verdict, value
from envdoctor.api.estimates import Fitting
from envdoctor.facts.model import Facts
from envdoctor.render.document import document
from envdoctor.render.speed import document as speed_document
from envdoctor.speed.cost import Price
from envdoctor.speed.verdict import judge
from envdoctor.values.frozen import frozen
from tests.commands.test_check import envdoctor
from tests.render.checkups import checkup, healthy
from tests.speed.making import baseline, cpu_report, report, target
from tests.values.json_schema import closed, schema_of

FOLDER = Path(__file__).resolve().parents[2] / "envdoctor" / "schemas"
MACHINES = Path(__file__).resolve().parents[1] / "facts" / "machines"


@frozen
class FactsFile:
    """What `envdoctor facts` writes. A section that could not be read is {"unavailable": reason, "why": word}; fields
    that hold their default are left out."""

    schema: int
    tool: dict[str, str]
    facts: Facts


@frozen
class Fixed:
    """What `envdoctor fix --format json` prints."""

    schema: int
    change: Change


SCHEMAS = {
    "check": schema_of(Report, "envdoctor check and diagnose --format json"),
    "verify": schema_of(Verdict, "envdoctor verify --format json"),
    "fix": schema_of(Fixed, "envdoctor fix --format json"),
    "preflight": schema_of(Gate, "envdoctor preflight --format json"),
    "fit": schema_of(Fitting, "envdoctor fit --format json"),
    "error": schema_of(Failure, "any command of envdoctor --format json that fails"),
    "facts": schema_of(FactsFile, "envdoctor facts", tagged=True),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schema_is_that_of_the_class(name: str, pytestconfig: pytest.Config) -> None:
    path = FOLDER / f"{name}.json"
    text = json.dumps(SCHEMAS[name], indent=1, ensure_ascii=False) + "\n"
    if pytestconfig.getoption("--rewrite-goldens"):
        path.write_text(text, "utf-8")
    assert path.read_text("utf-8") == text, f"pytest {__file__} --rewrite-goldens, then read the difference"
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


def validate(name: str, found: Any) -> None:
    """Against the schema as published, and with nothing besides what it names."""
    jsonschema.validate(found, json.loads((FOLDER / f"{name}.json").read_text("utf-8")))
    jsonschema.validate(found, closed(SCHEMAS[name]))


@pytest.mark.parametrize("made", [checkup, healthy])
def test_made_checks(made: Any) -> None:
    validate("check", json.loads(json.dumps(document(made()))))


def test_real_documents(tmp_path: Path) -> None:
    """What the commands print in an environment that holds nothing, and of recorded machines."""
    environment = tmp_path / "env"
    venv.create(environment, with_pip=False)
    validate("check", json.loads(envdoctor("check", "--env", environment, "--format", "json").out))
    validate("check", json.loads(envdoctor("check", "--env", sys.prefix, "--no-torch", "--format", "json").out))
    validate("facts", json.loads(envdoctor("facts", "--env", environment).out))
    for machine in MACHINES.glob("*.json"):
        validate("facts", json.loads(machine.read_text()))
        validate("check", json.loads(envdoctor("check", "--facts", machine, "--format", "json").out))


def test_real_documents_of_a_gate_that_stays_shut(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False)
    outcome = envdoctor("preflight", "--env", tmp_path / "env", "--target", "cpu", "--format", "json")
    found = json.loads(outcome.out)
    validate("preflight", found)
    assert (found["change"], found["speed"]) == (None, None)


def test_pasted_reports() -> None:
    outcome = envdoctor("diagnose", Path(__file__).resolve().parents[1] / "cases" / "a03.txt", "--format", "json")
    validate("check", json.loads(outcome.out))


def test_verdicts() -> None:
    base = baseline(1.5, like=cpu_report(1.5), stack="cpu")
    slow = judge([cpu_report(1.2)] * 3, base, target=target(gpu_names=(), flags={}))
    priced = judge([report(8.0)] * 3, baseline(), target=target(), steps=36_000, price_per_hour=Price(per_hour=2.5))
    unknown = judge([report(8.0)], None, target=target())
    assert {slow.word, unknown.word} == {"slower", "not-comparable"}
    for verdict in (slow, priced, unknown):
        found = json.loads(json.dumps(speed_document(verdict)))
        validate("verify", found)
        made = value(Verdict, found)
        assert (made.verdict, made.ratio, made.conditions) == (found["verdict"], found["ratio"], found["conditions"])


@pytest.mark.parametrize(
    ("name", "break_"),
    [
        ("check", lambda d: d.pop("findings")),
        ("check", lambda d: d.update(outcome="fine")),
        ("check", lambda d: d["findings"][0].update(severity="fatal")),
        ("check", lambda d: d["findings"][0]["remedy"].update(commands="pip install")),
    ],
)
def test_a_broken_document_is_refused(name: str, break_: Any) -> None:
    found = json.loads(json.dumps(document(checkup())))
    break_(found)
    with pytest.raises(jsonschema.ValidationError):
        validate(name, found)
