from dataclasses import replace

import pytest

from envdoctor.facts.model import Distribution, Facts, Interpreter, Packages
from envdoctor.rules.packages.conflicts import conflicts
from envdoctor.rules.rule import Pin, Severity
from tests.rules.judging import findings, locked, silent, skipped

MARKERS = {
    "python_version": "3.11",
    "python_full_version": "3.11.7",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "os_name": "posix",
    "implementation_name": "cpython",
    "implementation_version": "3.11.7",
    "platform_python_implementation": "CPython",
    "platform_release": "6.1",
    "platform_version": "1",
}


def environment(*requires: str, name: str = "transformers", complete: bool = True, **others: str) -> Facts:
    rows = [Distribution(name=name, version="5.23.0", requires=requires)]
    rows += [Distribution(name=other.replace("_", "-"), version=version) for other, version in others.items()]
    return Facts(
        interpreter=Interpreter(version="3.11.7", markers=MARKERS),
        packages=Packages(distributions=tuple(rows), complete=complete),
    )


@pytest.mark.parametrize(
    ("line", "installed"),
    [
        ("tokenizers<0.24,>=0.23", "0.22.0"),
        ("tokenizers (>=0.23)", "0.22.0"),
        ("Tokenizers[testing]>=0.23 ; python_version >= '3.8'", "0.22.0"),
        ("tokenizers==0.23.*; sys_platform == 'linux'", "0.22.0"),
        ("tokenizers!=0.22.0", "0.22.0"),
        ("tokenizers==0.23.1", "0.24.0"),
        ("tokenizers<0.25,>=0.24", "0.23.0"),
    ],
)
def test_a_demand_that_is_not_met(line: str, installed: str) -> None:
    (finding,) = findings(conflicts, environment(line, tokenizers=installed))
    assert (finding.kind, finding.severity) == ("package-conflict", Severity.ERROR)
    assert finding.subject == "transformers tokenizers"
    assert finding.actual == installed
    assert finding.remedy.commands[0].startswith("python -m pip install 'tokenizers")
    assert not finding.repair


@pytest.mark.parametrize(
    ("line", "installed", "severity"),
    [
        ("tokenizers<0.23", "0.24.0", Severity.WARNING),
        ("tokenizers<=0.23,>=0.20", "0.24.0", Severity.WARNING),
        ("setuptools<82", "84.2.1", Severity.NOTE),
    ],
)
def test_above_a_limit_is_less_than_below_one(line: str, installed: str, severity: Severity) -> None:
    name = line.partition("<")[0]
    (finding,) = findings(conflicts, environment(line, **{name: installed}))
    assert finding.severity is severity


@pytest.mark.parametrize(
    ("demanded", "installed", "severity"),
    [("9.10.2.21", "9.15.1.9", Severity.NOTE), ("9.10.2.21", "9.1.0.70", Severity.ERROR)],
)
def test_a_newer_library_of_nvidia_is_a_known_remedy(demanded: str, installed: str, severity: Severity) -> None:
    facts = environment(f"nvidia-cudnn-cu12=={demanded}", name="torch", nvidia_cudnn_cu12=installed)
    (finding,) = findings(conflicts, facts)
    assert finding.severity is severity


@pytest.mark.parametrize(
    ("line", "installed"),
    [
        ("tokenizers>=0.23", "0.23.3"),
        ("tokenizers>=0.23", "0.24.0rc1"),
        ("tokenizers", "0.1"),
        ("tokenizers>=0.23; python_version < '3.9'", "0.1"),
        ("tokenizers>=0.23; extra == 'dev'", "0.1"),
        ("tokenizers>=0.23; 'dev' == extra", "0.1"),
        ("tokenizers @ file:///somewhere/tokenizers.whl", "0.1"),
        ("tokenizers>=not-a-version", "0.1"),
        ("tokenizers>=0.23; nonsense ~ 'x'", "0.1"),
        ("torch>=2.4", "0.1"),
    ],
)
def test_a_demand_that_is_met_or_does_not_apply(line: str, installed: str) -> None:
    assert silent(conflicts, environment(line, tokenizers=installed, torch="2.13.0+cu130"))


def test_an_absent_package_counts_only_in_a_complete_list() -> None:
    (finding,) = findings(conflicts, environment("tokenizers>=0.23"))
    assert (finding.actual, finding.expected) == ("not installed", "tokenizers>=0.23")
    assert silent(conflicts, environment("tokenizers>=0.23", complete=False))
    assert silent(conflicts, environment("tokenizers>=0.23"), locked(tokenizers="0.23.3"))  # packages/missing says it


def test_a_notebook_package_is_noted() -> None:
    (finding,) = findings(conflicts, environment("idna>=99", name="jupyter-server", idna="3"))
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("pinned", "repair"),
    [
        ("0.23.3", (Pin(name="tokenizers", version="0.23.3"),)),
        ("0.22.0", ()),  # what is installed already: installing it again changes nothing
    ],
)
def test_a_locked_package_is_repaired_from_the_lock(pinned: str, repair: tuple[Pin, ...]) -> None:
    facts = environment("tokenizers>=0.23", tokenizers="0.22.0")
    (finding,) = findings(conflicts, facts, locked(tokenizers=pinned))
    assert finding.repair == repair


def test_markers_that_cannot_be_evaluated_accuse_nobody() -> None:
    facts = environment("tokenizers>=0.23; python_version >= '3.8'", tokenizers="0.1")
    assert silent(conflicts, replace(facts, interpreter=Interpreter(version="3.11.7")))
    assert skipped(conflicts, Facts())
