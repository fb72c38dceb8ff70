from dataclasses import replace
from pathlib import Path

from envdoctor.bundle import lockfiles
from envdoctor.facts.model import Distribution, Facts
from envdoctor.locks.target import no_target
from envdoctor.rules.packages.missing import missing
from envdoctor.rules.rule import Pin, Severity
from tests.rules.judging import findings, installed, locked, silent, skipped

TARGET = locked(torch="2.13.0", datasets="5.2.0")


def test_without_torch_nothing_trains_and_the_rest_does_not_matter_yet() -> None:
    torch, datasets = findings(missing, Facts(packages=installed(pip="26")), TARGET)
    assert (torch.kind, torch.subject, torch.actual, torch.expected) == (
        "package-missing",
        "torch",
        "not installed",
        "2.13.0",
    )
    assert (torch.severity, datasets.severity) == (Severity.ERROR, Severity.NOTE)
    assert datasets.repair == (Pin(name="datasets", version="5.2.0"),)
    assert torch.remedy.commands == ("envdoctor fix --target h100",)
    assert torch.explains == ("torch/",)
    assert torch.certain > datasets.certain


def test_what_only_the_trainer_imports_is_one_warning() -> None:
    (found,) = findings(
        missing, Facts(packages=installed(torch="2")), locked(torch="2", datasets="5.2.0", peft="0.21.2")
    )
    assert (found.severity, [row.subject for row in found.rows]) == (Severity.WARNING, ["datasets", "peft"])
    assert "only the bundled trainer needs them" in found.message


def test_what_a_lock_of_ones_own_names_was_asked_for() -> None:
    """Also where nothing that is installed needs it: who wrote that lock wants it."""
    own = replace(locked(idna="3.10", xxhash="3.4"), path=Path("/srv/team/locks/targets/team.toml"))
    (found,) = findings(missing, Facts(packages=installed(pip="26")), own)
    assert (found.severity, [row.subject for row in found.rows]) == (Severity.WARNING, ["idna", "xxhash"])
    assert "trainer" not in found.message
    ours = replace(own, path=lockfiles() / "targets" / "cpu.toml")
    assert [one.severity for one in findings(missing, Facts(packages=installed(pip="26")), ours)] == [Severity.NOTE]


def test_what_something_installed_requires_is_an_error() -> None:
    trl = Distribution(name="trl", version="1.16.0", requires=("datasets>=4.7.0", 'vllm; extra == "vllm"'))
    packages = replace(installed(torch="2"), distributions=(*installed(torch="2").distributions, trl))
    (found,) = findings(missing, Facts(packages=packages), locked(torch="2", datasets="5.2.0", vllm="1"))[:1]
    assert (found.severity, found.subject) == (Severity.ERROR, "datasets")
    assert "trl needs it" in found.message


def test_an_environment_of_another_framework_lacks_nothing() -> None:
    facts = Facts(packages=installed(jax="0.9.1", numpy="2"))
    assert skipped(missing, facts, TARGET) == "this environment trains with JAX"
    assert findings(missing, facts, replace(TARGET, asked=True))


def test_a_complete_environment_is_healthy() -> None:
    assert silent(missing, Facts(packages=installed(torch="1.0", datasets="5.2.0")), TARGET)


def test_a_filtered_list_proves_no_absence() -> None:
    facts = Facts(packages=installed(complete=False, torch="2.13.0"))
    assert skipped(missing, facts, TARGET) == "the list of packages is not complete"


def test_unknown_is_skipped() -> None:
    assert skipped(missing, Facts(), TARGET)
    assert skipped(missing, Facts(packages=installed()), no_target())


def test_what_only_the_locked_versions_need_is_a_note() -> None:
    (found,) = findings(missing, Facts(packages=installed(pip="26")), locked(httpx2="2.16.2"))
    assert found.severity is Severity.NOTE
