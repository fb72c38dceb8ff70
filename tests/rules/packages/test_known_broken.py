from dataclasses import replace

import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus, Host
from envdoctor.knowledge.broken import RELEASES, KnownRelease
from envdoctor.rules.packages.known_broken import known_broken
from envdoctor.rules.rule import Pin, Severity
from tests.rules.judging import findings, installed, locked, silent, skipped

CUDNN = "RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph."
B200 = Gpus(devices=(Gpu(index=0, name="NVIDIA B200"),))


@pytest.mark.parametrize(
    ("versions", "facts", "severity"),
    [
        ({"torch": "2.5.0+cu121"}, {"messages": (CUDNN,)}, Severity.ERROR),
        ({"torch": "2.5.0+cu121"}, {}, Severity.NOTE),
        ({"torch": "2.10.0+cu130"}, {"gpus": B200}, Severity.NOTE),
        ({"transformers": "5.1.0", "deepspeed": "0.18.0"}, {}, Severity.ERROR),
        ({"transformers": "4.55.1"}, {}, Severity.NOTE),
        (
            {"transformers": "4.55.1"},
            {"messages": ("NameError: name 'prepare_fa_kwargs_from_position_ids' is not defined",)},
            Severity.ERROR,
        ),
        ({"transformers": "4.48.0"}, {}, Severity.NOTE),
        ({"transformers": "4.48.0"}, {"messages": ("the loss is 8 times too high",)}, Severity.ERROR),
        ({"transformers": "4.57.0"}, {}, Severity.WARNING),
        ({"python": "0", "lightning": "2.6.2"}, {}, Severity.ERROR),
        ({"bitsandbytes": "0.46.0"}, {}, Severity.NOTE),
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
        {"torch": "2.15.0", "transformers": "5.23.0", "datasets": "5.2.0", "peft": "0.21.2", "bitsandbytes": "0.50.2"},
        {"transformers": "4.57.0.dev0"},
        {"datasets": "nonsense"},
    ],
)
def test_other_releases_are_healthy(versions: dict[str, str]) -> None:
    assert silent(known_broken, Facts(packages=installed(versions)))


def test_repaired_from_the_lock() -> None:
    facts = Facts(packages=installed({"torch": "2.5.0+cu121"}), messages=(CUDNN,))
    (finding,) = (
        one for one in findings(known_broken, facts, locked(torch="2.13.0")) if one.severity is Severity.ERROR
    )
    assert finding.repair == (Pin(name="torch", version="2.13.0"),)


def test_unknown_is_skipped() -> None:
    assert skipped(known_broken, Facts())


@pytest.mark.parametrize(
    "row", [row for row in RELEASES if row.kind == "broken"], ids=lambda row: f"{row.package}{row.versions}"
)
def test_the_advice_of_each_row_leads_out_of_it(row: KnownRelease) -> None:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    use = Requirement(row.instead)
    if use.name != row.package:  # the other side moves: it stands among what must come together, or the row says why
        assert row.where.beside or row.where.needs, row
        return
    broken = SpecifierSet(row.versions)
    wanted = next(iter(use.specifier), None)
    if wanted is not None and wanted.operator in ("==", ">="):
        assert wanted.version not in broken


def test_windows_rows_are_for_windows() -> None:
    loader = "OSError: [WinError 126] Error loading fbgemm.dll or one of its dependencies"
    facts = Facts(packages=installed({"torch": "2.4.0"}), messages=(loader,))
    assert silent(known_broken, facts)
    (finding,) = findings(known_broken, replace(facts, host=Host(system="Windows")))
    assert finding.expected == "torch>=2.4.1"


def test_the_advice_names_what_is_near() -> None:
    facts = Facts(packages=installed({"transformers": "4.48.0"}), messages=("the loss is 8 times too high",))
    (finding,) = findings(known_broken, facts)
    assert "transformers==4.48.3" in finding.remedy.text
    assert finding.remedy.commands == ("python -m pip install 'transformers>=4.56.2'",)


def test_at_least_a_hundred_releases_are_known() -> None:
    rows = [row for row in RELEASES if row.kind == "broken"]
    assert len(rows) > 130
    assert all(row.severity != "error" or row.symptom or row.where.beside or "compromised" in row.what for row in rows)
