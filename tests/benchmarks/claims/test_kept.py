"""The raw numbers behind the claims, and the table that the product prints, which is worked out from them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from envdoctor import bundle
from envdoctor.commands.ablate import KEPT
from envdoctor.errors import Trouble
from envdoctor.render.ablation import document
from envdoctor.speed.ablation.ablation import evaluate
from envdoctor.speed.ablation.interleaving import Variant
from envdoctor.speed.ablation.variants import DEFAULT, find
from envdoctor.speed.report import Device

from tests.benchmarks.claims import answers, kept
from tests.benchmarks.claims.__main__ import RAW
from tests.benchmarks.claims.experiments import ANSWERS
from tests.speed.making import report


def made() -> dict[str, Any]:
    device = Device(type="cpu", name="a CPU", cores=2, threads=2, machine="secret")
    chosen = (DEFAULT, *find(("recompute",)))
    reports = {
        "default": [replace(report(10.0), device=device), replace(report(10.1), device=device)],
        "recompute": [replace(report(8.0), device=device), replace(report(8.1), device=device)],
    }
    return document(evaluate(chosen, reports), reports, command="envdoctor ablate recompute")


def write(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), "utf-8")
    return path


def test_settings_and_experiments_in_a_file_answer_their_claims(tmp_path: Path) -> None:
    data = {**kept.slim(made()), "experiments": {"recomputation": {"ratio": 1.2}}}
    rows, conditions, found = kept.read(write(tmp_path / "mine.json", data))
    here = next(row.here for row in answers.table(rows, found=found) if row.claim.number == 10)
    assert "recompute is 0.80x default [" in here
    assert "1.20x the FLOPs of a step" in here
    assert conditions["device"]["name"] == "a CPU"


def test_environments_kept_beside_the_settings_answer_the_claim_about_versions(tmp_path: Path) -> None:
    old, new = Variant(name="old", environment=Path("old")), Variant(name="new", environment=Path("new"))
    reports = {"old": [report(10.0), report(10.0)], "new": [report(10.1), report(10.1)]}
    data = {**kept.slim(made()), "environments": [kept.slim(document(evaluate((old, new), reports), reports))]}
    rows, _, _ = kept.read(write(tmp_path / "mine.json", data))
    assert any("new is 1.01x old" in row.here for row in answers.table(rows))


def test_a_kept_document_is_small_says_the_same_and_names_no_machine() -> None:
    data = made()
    small = kept.slim(data)
    assert "secret" not in json.dumps(small)
    assert len(json.dumps(small)) < len(json.dumps(data))
    assert [row["ratio"] for row in small["rows"]] == [row["ratio"] for row in data["rows"]]
    first = small["reports"]["default"][0]
    assert len(first["windows"]) == len(data["reports"]["default"][0]["windows"])
    assert set(first["windows"][0]) == {"steps", "seconds", "tokens"}


@pytest.mark.parametrize("data", [{}, {"schema": 1}, []])
def test_another_file_is_refused(tmp_path: Path, data: object) -> None:
    with pytest.raises(Trouble, match="not the JSON of an ablation"):
        kept.read(write(tmp_path / "other.json", data))


def test_the_products_table_is_what_the_kept_numbers_come_to() -> None:
    rows, conditions, found = kept.read(RAW)
    table = answers.table(rows, device="cpu", found=found)
    assert json.loads((bundle.lockfiles() / KEPT).read_text("utf-8")) == answers.document(table, conditions)
    assert RAW.stat().st_size < 300_000
    ratios = {row["name"]: row["ratio"] for row in json.loads(RAW.read_text("utf-8"))["rows"]}
    for (name, _), row in rows.items():
        if name in ratios:
            assert row.ratio == (ratios[name] and pytest.approx(ratios[name], rel=1e-4))
    assert set(found) >= {name for name, _ in ANSWERS.values()}
    assert {answer.claim.number for answer in table if answer.measured} >= set(ANSWERS)
    assert {answer.claim.number for answer in table if answer.status == "needs-gpu"} == {3, 4, 18, 21}
    for answer in table:
        if answer.status == "not-measured":
            timed = {name for (name, _), row in rows.items() if row.ratio is not None}
            assert not set(answer.claim.variants) <= timed, answer.claim.number
