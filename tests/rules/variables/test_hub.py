import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.rule import Severity
from envdoctor.rules.variables.hub import hub
from tests.rules.judging import findings, installed, silent, skipped


@pytest.mark.parametrize(
    ("variables", "versions", "words", "severity"),
    [
        (
            {"HF_HUB_ENABLE_HF_TRANSFER": "1"},
            {"huggingface-hub": "0.30.2"},
            "package is missing",
            Severity.WARNING,
        ),
        ({"HF_HUB_ENABLE_HF_TRANSFER": "1"}, {"huggingface-hub": "1.4.1"}, "do not read it", Severity.NOTE),
        ({"TRANSFORMERS_CACHE": "/data"}, {"transformers": "5.23.0"}, "transformers 5 does not read it", Severity.NOTE),
        ({"TRANSFORMERS_CACHE": "/data"}, {"transformers": "4.57.1"}, "an old name", Severity.NOTE),
    ],
)
def test_outdated(variables: dict[str, str], versions: dict[str, str], words: str, severity: Severity) -> None:
    (finding,) = findings(hub, Facts(variables=variables, packages=installed(versions)))
    assert words in finding.message
    assert finding.severity is severity


def test_healthy_and_unknown() -> None:
    versions = {"huggingface-hub": "0.30.2", "hf-transfer": "0.1.9"}
    assert silent(hub, Facts(variables={"HF_HUB_ENABLE_HF_TRANSFER": "1"}, packages=installed(versions)))
    assert silent(hub, Facts(variables={"HF_HUB_ENABLE_HF_TRANSFER": "0", "HF_HOME": "/data"}))
    assert silent(hub, Facts(variables={"HF_HUB_ENABLE_HF_TRANSFER": "1"}))
    assert skipped(hub, Facts())
