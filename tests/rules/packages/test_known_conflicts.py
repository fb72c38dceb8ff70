import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.packages.known_conflicts import known_conflicts
from envdoctor.rules.rule import Pin, Severity
from tests.rules.judging import findings, installed, locked, silent, skipped


@pytest.mark.parametrize(
    ("versions", "use"),
    [
        ({"transformers": "4.52.3", "accelerate": "0.34.0"}, "accelerate>=1.10.1"),
        ({"torch": "2.4.0a0+07cecf4168.nv24.05", "deepspeed": "0.14.0"}, "deepspeed>=0.18.3"),
        ({"huggingface-hub": "0.26.0", "diffusers": "0.28.0"}, "diffusers>=0.29"),
        ({"transformers": "5.2.0", "peft": "0.17.1"}, "peft>=0.18.1"),
        ({"transformers": "5.2.0", "liger-kernel": "0.6.4"}, "liger-kernel>=0.8.2"),
        ({"transformers": "4.57.1", "huggingface-hub": "1.2.0"}, "transformers>=5.23"),
    ],
)
def test_pairs_that_do_not_work(versions: dict[str, str], use: str) -> None:
    (finding,) = findings(known_conflicts, Facts(packages=installed(versions)))
    assert (finding.kind, finding.severity, finding.expected) == ("package-conflict", Severity.ERROR, use)
    assert finding.remedy.commands == (f"python -m pip install '{use}'",)


def test_a_line_that_proves_it_ranks_higher() -> None:
    packages = installed(transformers="4.52.3", accelerate="0.34.0")
    line = "TypeError: Accelerator.unwrap_model() got an unexpected keyword argument 'keep_torch_compile'"
    (proven,) = findings(known_conflicts, Facts(packages=packages, messages=(line,)))
    (concluded,) = findings(known_conflicts, Facts(packages=packages))
    assert proven.certain > concluded.certain
    assert "packages/import-mismatch" in proven.explains


def test_a_data_set_that_is_a_script() -> None:
    line = "RuntimeError: Dataset scripts are no longer supported, but found wikitext.py"
    (finding,) = findings(known_conflicts, Facts(packages=installed(datasets="4.5.0"), messages=(line,)))
    assert finding.actual == "datasets 4.5.0"
    assert "Parquet" in finding.expected


@pytest.mark.parametrize(
    "versions",
    [
        {"transformers": "5.23.0", "accelerate": "1.15.0", "peft": "0.21.0", "huggingface-hub": "2.4.0"},
        {"transformers": "4.51.3", "accelerate": "0.34.0", "huggingface-hub": "0.30.2"},
        {"torch": "2.3.1", "deepspeed": "0.14.0"},
        {},
    ],
)
def test_healthy(versions: dict[str, str]) -> None:
    assert silent(known_conflicts, Facts(packages=installed(versions)))


def test_repaired_from_the_lock() -> None:
    facts = Facts(packages=installed(transformers="5.2.0", peft="0.17.1"))
    (finding,) = findings(known_conflicts, facts, locked(transformers="5.2.0", peft="0.21.0"))
    assert finding.repair == (Pin(name="peft", version="0.21.0"),)


def test_unknown_is_skipped() -> None:
    assert skipped(known_conflicts, Facts())
