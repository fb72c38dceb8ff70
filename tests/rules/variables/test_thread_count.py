import pytest

from envdoctor.facts.model import Facts, Host
from envdoctor.locks.target import Target
from envdoctor.rules.rule import SetVariable, Severity
from envdoctor.rules.variables.thread_count import thread_count
from tests.rules.judging import asking, findings, silent, skipped

GPU, CPU = asking(), asking(capability=None)
EIGHT = Host(cpus=96, cpu_quota=8.0)


@pytest.mark.parametrize(
    ("variables", "target", "severity", "expected"),
    [
        ({"OMP_NUM_THREADS": "1"}, CPU, Severity.WARNING, "8"),
        ({"OMP_NUM_THREADS": "1"}, GPU, Severity.NOTE, "8"),
        ({"OMP_NUM_THREADS": "96"}, CPU, Severity.WARNING, "8"),
        ({"OMP_NUM_THREADS": "96"}, GPU, Severity.WARNING, "8"),
        ({"MKL_NUM_THREADS": "32"}, CPU, Severity.WARNING, "8"),
        ({"OMP_NUM_THREADS": "16,2"}, CPU, Severity.WARNING, "8"),
        ({"OMP_NUM_THREADS": "96", "LOCAL_WORLD_SIZE": "4"}, GPU, Severity.WARNING, "2"),
    ],
)
def test_does_not_fit(variables: dict[str, str], target: Target, severity: Severity, expected: str) -> None:
    (finding,) = findings(thread_count, Facts(variables=variables, host=EIGHT), target)
    name = finding.subject
    assert (finding.kind, finding.severity, finding.expected) == ("thread-count", severity, expected)
    assert f"export {name}={expected}" in (*finding.remedy.commands, *finding.remedy.instead)
    assert finding.repair == ((SetVariable(name=name, value=expected),) if target is CPU else ())


@pytest.mark.parametrize(
    "variables",
    [
        {"OMP_NUM_THREADS": "8"},
        {"OMP_NUM_THREADS": "4"},
        {"OMP_NUM_THREADS": "auto"},
        {"OMP_NUM_THREADS": "0"},
        {"OMP_NUM_THREADS": "1", "LOCAL_WORLD_SIZE": "8"},  # what torchrun sets for its ranks
        {},
    ],
)
def test_fits(variables: dict[str, str]) -> None:
    assert silent(thread_count, Facts(variables=variables, host=EIGHT), CPU)


def test_two_cpus_and_one_thread_are_nothing_to_speak_of() -> None:
    assert silent(thread_count, Facts(variables={"OMP_NUM_THREADS": "1"}, host=Host(cpus=2)), CPU)


def test_unknown_is_skipped() -> None:
    assert skipped(thread_count, Facts(host=EIGHT))
    assert skipped(thread_count, Facts(variables={"OMP_NUM_THREADS": "1"}))
