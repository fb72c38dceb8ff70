import pytest

from envdoctor.facts.model import Facts, Host
from envdoctor.rules.host.clocksource import clocksource
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize("word", ["hpet", "acpi_pm", "xen"])
def test_a_slow_clock(word: str) -> None:
    (finding,) = findings(clocksource, Facts(host=Host(clocksource=word)))
    assert (finding.kind, finding.severity, finding.who) == ("host-limited", Severity.WARNING, "host")


@pytest.mark.parametrize("word", ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", None])
def test_healthy(word: str | None) -> None:
    assert silent(clocksource, Facts(host=Host(clocksource=word)))


def test_unknown_is_skipped() -> None:
    assert skipped(clocksource, Facts())
