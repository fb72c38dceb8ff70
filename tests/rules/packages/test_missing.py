from envdoctor.facts import Facts
from envdoctor.rule import Pin, Severity
from envdoctor.rules.packages.missing import missing
from envdoctor.target import no_target
from tests.rules.judging import findings, installed, locked, silent, skipped

TARGET = locked(torch="2.13.0", datasets="5.2.0")


def test_each_absent_package_is_an_error_with_its_repair() -> None:
    datasets, torch = findings(missing, Facts(packages=installed(pip="26")), TARGET)
    assert (datasets.kind, datasets.subject, datasets.actual, datasets.expected) == (
        "package-missing",
        "datasets",
        "not installed",
        "5.2.0",
    )
    assert datasets.severity is Severity.ERROR
    assert datasets.repair == (Pin(name="datasets", version="5.2.0"),)
    assert datasets.remedy.commands == ("envdoctor fix --target h100",)
    assert torch.explains == ("torch/",)
    assert torch.root_rank > datasets.root_rank


def test_a_complete_environment_is_healthy() -> None:
    assert silent(missing, Facts(packages=installed(torch="1.0", datasets="5.2.0")), TARGET)


def test_a_filtered_list_proves_no_absence() -> None:
    facts = Facts(packages=installed(complete=False, torch="2.13.0"))
    assert skipped(missing, facts, TARGET) == "the list of packages is not complete"


def test_unknown_is_skipped() -> None:
    assert skipped(missing, Facts(), TARGET)
    assert skipped(missing, Facts(packages=installed()), no_target())


def test_what_only_the_locked_versions_need_is_a_warning() -> None:
    (found,) = findings(missing, Facts(packages=installed(pip="26")), locked(httpx2="2.16.2"))
    assert found.severity is Severity.WARNING
