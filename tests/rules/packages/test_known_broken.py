import pytest

from envdoctor.facts import Facts, Gpu, Gpus
from envdoctor.knowledge.defects import BROKEN
from envdoctor.rule import Pin, Severity
from envdoctor.rules.packages.known_broken import known_broken
from tests.rules.judging import findings, installed, locked, silent, skipped

CUDNN = "RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph."
B200 = Gpus(devices=(Gpu(index=0, name="NVIDIA B200"),))


@pytest.mark.parametrize(
    ("versions", "facts", "severity"),
    [
        ({"torch": "2.5.0+cu121"}, {"messages": (CUDNN,)}, Severity.ERROR),
        ({"torch": "2.5.0+cu121"}, {}, Severity.NOTE),
        ({"torch": "2.10.0+cu130"}, {"gpus": B200}, Severity.WARNING),
        ({"transformers": "5.1.0", "deepspeed": "0.18.0"}, {}, Severity.ERROR),
        ({"datasets": "4.5.0", "unsloth": "2026.1"}, {}, Severity.ERROR),
        ({"datasets": "4.5.0"}, {}, Severity.NOTE),
        ({"transformers": "4.57.0"}, {}, Severity.NOTE),
        ({"transformers": "4.57.0", "llamafactory": "0.9.4"}, {}, Severity.ERROR),
        ({"bitsandbytes": "0.46.0"}, {}, Severity.NOTE),
        ({"peft": "0.11.0"}, {}, Severity.NOTE),
        (
            {"sentence-transformers": "5.6.0", "transformers": "5.2.0", "flash-attn": "2.8.3"},
            {},
            Severity.WARNING,
        ),
    ],
)
def test_a_release_counts_as_much_as_what_comes_with_it(
    versions: dict[str, str], facts: dict[str, object], severity: Severity
) -> None:
    found = findings(known_broken, Facts(packages=installed(versions), **facts))  # type: ignore[arg-type]
    assert [finding.severity for finding in found if finding.severity is not Severity.NOTE or severity == Severity.NOTE]
    assert max(finding.severity or 0 for finding in found) == severity
    assert {finding.kind for finding in found} == {"known-broken-version"}
    assert all(finding.source.startswith("https://") for finding in found)


@pytest.mark.parametrize(
    "versions",
    [
        {"torch": "2.5.1+cu121"},
        {"torch": "2.5.0+cpu"},
        {"torch": "2.10.0+cu130"},
        {"torch": "2.13.0", "transformers": "5.23.0", "datasets": "5.2.0", "peft": "0.21.0", "bitsandbytes": "0.50.2"},
        {"transformers": "4.57.0.dev0"},
        {"datasets": "nonsense"},
    ],
)
def test_other_releases_are_healthy(versions: dict[str, str]) -> None:
    assert silent(known_broken, Facts(packages=installed(versions)))


def test_repaired_from_the_lock() -> None:
    facts = Facts(packages=installed({"torch": "2.5.0+cu121"}), messages=(CUDNN,))
    (finding,) = findings(known_broken, facts, locked(torch="2.13.0"))
    assert finding.repair == (Pin(name="torch", version="2.13.0"),)


def test_unknown_is_skipped() -> None:
    assert skipped(known_broken, Facts())


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: f"{row.name}{row.versions}")
def test_the_advice_of_each_row_leads_out_of_it(row: object) -> None:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    use = Requirement(row.use)  # type: ignore[attr-defined]
    broken = SpecifierSet(row.versions)  # type: ignore[attr-defined]
    assert use.name == row.name  # type: ignore[attr-defined]
    wanted = next(iter(use.specifier))
    if wanted.operator in ("==", ">="):
        assert wanted.version not in broken
