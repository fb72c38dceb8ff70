from envdoctor.facts.model import Facts, Host
from envdoctor.rules.host.huge_pages import huge_pages
from envdoctor.rules.rule import Severity
from tests.rules.judging import asking, findings, silent, skipped

CPU = asking(capability=None)


def test_off_is_noted_for_a_cpu_target() -> None:
    (finding,) = findings(huge_pages, Facts(host=Host(transparent_hugepages="never")), CPU)
    assert (finding.severity, finding.who) == (Severity.NOTE, "host")


def test_healthy_and_not_asked() -> None:
    for word in ("madvise", "always", None):
        assert silent(huge_pages, Facts(host=Host(transparent_hugepages=word)), CPU)
    assert skipped(huge_pages, Facts(host=Host(transparent_hugepages="never")), asking())
    assert skipped(huge_pages, Facts(), CPU)
