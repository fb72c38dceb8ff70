from envdoctor.facts.model import Distribution, Facts, Packages
from envdoctor.rules.packages.conda_and_pip import conda_and_pip
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped


def both(conda: dict[str, str], version: str, installer: str = "pip", name: str = "torch") -> Facts:
    row = Distribution(name=name, version=version, installer=installer)
    return Facts(packages=Packages(distributions=(row,), conda=conda))


def test_two_installations_over_each_other() -> None:
    (finding,) = findings(conda_and_pip, both({"pytorch": "2.5.1 py3.11_cuda12.4"}, "2.13.0+cu130"))
    assert (finding.kind, finding.severity) == ("package-damaged", Severity.WARNING)
    assert finding.actual == "2.5.1 by conda, 2.13.0+cu130 by pip"
    assert finding.remedy.commands[0] == "conda remove --force pytorch"


def test_healthy_and_unknown() -> None:
    assert silent(conda_and_pip, both({"pytorch": "2.5.1 py3.11_cuda12.4"}, "2.5.1", installer="conda"))
    assert silent(conda_and_pip, both({"numpy": "2.4.6 pypi_0"}, "2.4.6", name="numpy"))
    assert silent(conda_and_pip, both({"pytorch": "2.5.1 py3.11_cpu_0"}, "2.5.1+cpu"))
    assert silent(conda_and_pip, both({}, "2.13.0"))
    assert skipped(conda_and_pip, Facts())
