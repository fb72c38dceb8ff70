import pytest

from envdoctor.facts.model import Facts, Host, Torch
from envdoctor.rules.host.affinity import affinity
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize(("threads", "severity"), [(52, Severity.WARNING), (2, Severity.NOTE), (None, Severity.NOTE)])
def test_narrower_than_what_is_visible(threads: int | None, severity: Severity) -> None:
    facts = Facts(host=Host(cpus=52, affinity=2), torch=Torch(version="2.13.0", threads=threads))
    (finding,) = findings(affinity, facts)
    assert (finding.kind, finding.severity, finding.who) == ("thread-count", severity, "you")
    assert finding.remedy.commands == ("export OMP_NUM_THREADS=2",)


def test_healthy_and_unknown() -> None:
    assert silent(affinity, Facts(host=Host(cpus=8, affinity=8)))
    assert skipped(affinity, Facts(host=Host(cpus=8)))
    assert skipped(affinity, Facts())
