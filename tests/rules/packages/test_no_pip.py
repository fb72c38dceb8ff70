from dataclasses import replace

from envdoctor.facts.model import Distribution, Facts, Interpreter, Origin, Packages
from envdoctor.rules.packages.no_pip import no_pip
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed, silent, skipped


def test_an_environment_without_pip() -> None:
    facts = Facts(
        packages=installed(torch="2.13.0"), interpreter=Interpreter(version="3.12.1", executable="/env/bin/python")
    )
    (finding,) = findings(no_pip, facts)
    assert finding.severity is Severity.NOTE
    assert finding.remedy.commands[1] == "uv pip install --python /env/bin/python pip"


def test_what_uv_alone_has_filled_has_none_on_purpose() -> None:
    torch, numpy = (Distribution(name=name, version="2.0", installer="uv") for name in ("torch", "numpy"))
    assert silent(no_pip, Facts(packages=Packages(distributions=(torch, numpy))))
    assert findings(no_pip, Facts(packages=Packages(distributions=(torch, replace(numpy, installer="pip")))))


def test_healthy_and_unknown() -> None:
    assert silent(no_pip, Facts(packages=installed(pip="26.0")))
    assert silent(no_pip, Facts(packages=replace(installed(), pip="26.0")))
    assert skipped(no_pip, Facts(packages=installed(), origin=Origin(kind="pasted")))
    assert skipped(no_pip, Facts(packages=installed(complete=False)))
    assert skipped(no_pip, Facts())
