from dataclasses import replace

import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.rule import SetVariable, Severity
from envdoctor.rules.variables.target_variables import target_variables
from tests.rules.judging import asking, findings, silent, skipped, torch

WANTED = "expandable_segments:True"
TARGET = replace(asking(), variables={"PYTORCH_ALLOC_CONF": WANTED})


@pytest.mark.parametrize(
    ("variables", "actual", "severity"),
    [
        ({}, "not set", Severity.NOTE),
        ({"PYTORCH_ALLOC_CONF": "max_split_size_mb:64"}, "max_split_size_mb:64", Severity.WARNING),
    ],
)
def test_not_as_the_target_was_timed(variables: dict[str, str], actual: str, severity: Severity) -> None:
    (finding,) = findings(target_variables, Facts(variables=variables, torch=torch()), TARGET)
    assert (finding.kind, finding.actual, finding.severity) == ("flag-differs", actual, severity)
    assert finding.repair == (SetVariable(name="PYTORCH_ALLOC_CONF", value=WANTED),)
    assert (finding.remedy.commands, finding.remedy.instead) == (
        ("envdoctor fix --target h100",),
        (f"export PYTORCH_ALLOC_CONF={WANTED}",),
    )


def test_an_older_torch_is_given_the_older_name() -> None:
    (finding,) = findings(target_variables, Facts(variables={}, torch=torch("2.9.1")), TARGET)
    assert finding.repair == (SetVariable(name="PYTORCH_CUDA_ALLOC_CONF", value=WANTED),)


@pytest.mark.parametrize(
    "facts",
    [
        Facts(variables={"PYTORCH_ALLOC_CONF": WANTED}),
        Facts(variables={"PYTORCH_CUDA_ALLOC_CONF": WANTED}),
        Facts(variables={}, torch=torch(allocator_conf=WANTED)),  # set by the startup hook, inside the process
    ],
)
def test_as_the_target_asks(facts: Facts) -> None:
    assert silent(target_variables, facts, TARGET)


def test_nothing_asked_and_unknown() -> None:
    assert silent(target_variables, Facts(variables={}), asking())
    assert skipped(target_variables, Facts(), TARGET)
    assert skipped(target_variables, Facts(variables={}))
