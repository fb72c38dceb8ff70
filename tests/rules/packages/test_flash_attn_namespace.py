from envdoctor.facts.model import Facts
from envdoctor.rules.packages.flash_attn_namespace import flash_attn_namespace
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed, silent, skipped

FOUR = {"flash-attn-4": "4.0.0b3"}


def test_alone_beside_a_package_that_looks_for_flash_attn() -> None:
    (finding,) = findings(flash_attn_namespace, Facts(packages=installed({**FOUR, "xformers": "0.0.34"})))
    assert (finding.kind, finding.severity) == ("known-slow-version", Severity.WARNING)
    assert "xformers silently fall back" in finding.message
    assert finding.remedy.commands == ("python -m pip uninstall -y flash-attn-4",)


def test_alone_it_is_noted() -> None:
    (finding,) = findings(flash_attn_namespace, Facts(packages=installed(FOUR)))
    assert finding.severity is Severity.NOTE


def test_healthy_and_unknown() -> None:
    assert silent(
        flash_attn_namespace, Facts(packages=installed({**FOUR, "flash-attn": "2.8.3", "xformers": "0.0.34"}))
    )
    assert silent(flash_attn_namespace, Facts(packages=installed({"flash-attn": "2.8.3"})))
    assert skipped(flash_attn_namespace, Facts(packages=installed(FOUR, complete=False)))
    assert skipped(flash_attn_namespace, Facts())
