import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.rule import Severity
from envdoctor.rules.variables.preload import preload
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize(
    ("value", "kind", "severity"),
    [
        ("/usr/lib/libasan.so.8", "debug-variable", Severity.WARNING),
        ("/usr/local/cuda/lib64/libcublas.so.12", "cuda-libraries-mixed", Severity.WARNING),
        ("/usr/lib/libjemalloc.so.2", "no-effect", Severity.NOTE),
        ("/opt/something.so", "no-effect", Severity.NOTE),
    ],
)
def test_what_is_forced_into_every_program(value: str, kind: str, severity: Severity) -> None:
    (finding,) = findings(preload, Facts(variables={"LD_PRELOAD": value}))
    assert (finding.kind, finding.subject, finding.severity) == (kind, "LD_PRELOAD", severity)
    assert finding.remedy.commands == ("env -u LD_PRELOAD python train.py",)


def test_healthy_and_unknown() -> None:
    assert silent(preload, Facts(variables={"LD_PRELOAD": ""}))
    assert silent(preload, Facts(variables={}))
    assert skipped(preload, Facts())
