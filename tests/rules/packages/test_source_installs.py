from envdoctor.facts.model import Distribution, Facts, Packages
from envdoctor.rules.packages.source_installs import source_installs
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed, silent, skipped


def test_editable_and_repository_installs_are_noted() -> None:
    rows = (
        Distribution(name="mine", version="0.1", editable=True, source="file"),
        Distribution(name="transformers", version="5.24.0.dev0", source="vcs"),
        Distribution(name="numpy", version="2.4.6"),
    )
    (finding,) = findings(source_installs, Facts(packages=Packages(distributions=rows)))
    assert finding.severity is Severity.NOTE
    assert finding.actual == "mine 0.1 (editable), transformers 5.24.0.dev0 (vcs)"


def test_many_are_summarised() -> None:
    rows = tuple(Distribution(name=f"p{n}", version="1", source="vcs") for n in range(12))
    (finding,) = findings(source_installs, Facts(packages=Packages(distributions=rows)))
    assert finding.actual.endswith("and 4 more")


def test_index_and_conda_installs_are_healthy() -> None:
    conda = Distribution(name="numpy", version="2.4.6", source="file", installer="conda")
    assert silent(source_installs, Facts(packages=Packages(distributions=(conda,))))
    assert silent(source_installs, Facts(packages=installed(numpy="2.4.6")))
    assert skipped(source_installs, Facts())
