from dataclasses import replace

import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.packages.numpy_abi import numpy_abi
from envdoctor.rules.rule import Pin, Severity
from tests.rules.judging import findings, installed, locked, silent, skipped, torch


@pytest.mark.parametrize(("name", "version"), [("torch", "2.2.2"), ("pandas", "2.1.4"), ("scipy", "1.11.4")])
def test_wheels_of_the_numpy_1_age_under_numpy_2(name: str, version: str) -> None:
    (finding,) = findings(numpy_abi, Facts(packages=installed({"numpy": "2.0.0", name: version})))
    assert (finding.kind, finding.severity, finding.actual) == ("numpy-abi", Severity.ERROR, "numpy 2.0.0")
    assert f"{name} {version} was built for NumPy 1" in finding.message
    assert finding.remedy.commands == ("python -m pip install 'numpy<2'",)


@pytest.mark.parametrize(
    "line",
    [
        "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.1.2 as it may crash.",
        "RuntimeError: Numpy is not available",
        "AttributeError: _ARRAY_API not found",
        "ValueError: numpy.dtype size changed, may indicate binary incompatibility",
    ],
)
def test_the_line_of_a_report_ranks_higher_than_versions_alone(line: str) -> None:
    (said,) = findings(numpy_abi, Facts(messages=(line,)))
    (concluded,) = findings(numpy_abi, Facts(packages=installed(numpy="2.0.0", torch="2.2.2")))
    assert said.certain > concluded.certain


def test_torch_says_itself_that_the_bridge_is_broken() -> None:
    broken = replace(torch("2.2.2+cpu", cuda=""), numpy="RuntimeError: Numpy is not available")
    (finding,) = findings(numpy_abi, Facts(packages=installed(numpy="2.1.0"), torch=broken))
    assert "torch 2.2.2+cpu was built for NumPy 1" in finding.message


@pytest.mark.parametrize(
    "versions",
    [
        {"numpy": "2.4.6", "torch": "2.13.0"},
        {"numpy": "1.26.4", "torch": "2.2.2"},
        {"numpy": "2.0.0", "torch": "2.3.0"},
        {"numpy": "2.0.0", "torch": "2.2.0a0+6a974be.nv24.5"},  # a vendor's build: not judged by its version
        {"torch": "2.2.2"},
    ],
)
def test_healthy(versions: dict[str, str]) -> None:
    assert silent(numpy_abi, Facts(packages=installed(versions)))


def test_repaired_from_the_lock() -> None:
    facts = Facts(packages=installed(numpy="2.0.0", torch="2.2.2"))
    (finding,) = findings(numpy_abi, facts, locked(numpy="2.0.0", torch="2.13.0"))
    assert finding.repair == (Pin(name="torch", version="2.13.0"),)


def test_unknown_is_skipped() -> None:
    assert skipped(numpy_abi, Facts())
