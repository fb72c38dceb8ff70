import pytest

from envdoctor.facts.model import Facts, Host
from envdoctor.rules.host.kernel import kernel
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize("release", ["5.4.0-214-generic", "4.14.0_1-0-0-38", "3.10.0-1160.el7.x86_64"])
def test_older_than_accelerate_likes(release: str) -> None:
    (finding,) = findings(kernel, Facts(host=Host(system="Linux", kernel=release)))
    assert (finding.severity, finding.who, finding.actual) == (Severity.NOTE, "host", release)


@pytest.mark.parametrize(
    "host",
    [
        Host(system="Linux", kernel="5.15.0-58-generic"),
        Host(system="Linux", kernel="6.18.44"),
        Host(kernel="4.4.0-19041-Microsoft", container="wsl1"),  # driver/wsl speaks of that
        Host(system="Darwin", kernel="24.1.0"),
        Host(system="Windows", kernel="10"),
        Host(kernel="custom"),
        Host(),
    ],
)
def test_healthy(host: Host) -> None:
    assert silent(kernel, Facts(host=host))


def test_unknown_is_skipped() -> None:
    assert skipped(kernel, Facts())
