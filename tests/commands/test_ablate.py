"""`ablate --claims`: from kept numbers, from a file, and what is kept of a measurement."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from envdoctor import bundle
from envdoctor.commands.ablate import KEPT, _earlier, command
from envdoctor.render.ablation import document, slim
from envdoctor.speed import claims
from envdoctor.speed.ablation import evaluate
from envdoctor.speed.claims import CLAIMS
from envdoctor.speed.experiments import ANSWERS
from envdoctor.speed.interleaving import Variant
from envdoctor.speed.report import Device
from envdoctor.speed.variants import DEFAULT, find
from tests.speed.making import report


def ablate(*words: str) -> Result:
    return CliRunner().invoke(command, list(words), env={"COLUMNS": "100"})


def made(**options: Any) -> dict[str, Any]:
    device = Device(type="cpu", name="a CPU", cores=2, threads=2, machine="secret")
    chosen = (DEFAULT, *find(("recompute",)))
    reports = {
        "default": [replace(report(10.0), device=device), replace(report(10.1), device=device)],
        "recompute": [replace(report(8.0), device=device), replace(report(8.1), device=device)],
    }
    return document(evaluate(chosen, reports), reports, **options)


def test_every_claim_has_its_rows_at_once() -> None:
    found = ablate("--claims")
    assert found.exit_code == 0, found.output
    for claim in CLAIMS:
        assert claim.claim.split()[0] in found.output
    assert f"of {len(CLAIMS)} timed or counted" in found.output


def test_what_was_measured_before_is_printed_with_its_conditions(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    data = slim(made(command="envdoctor ablate --claims --measure", found={"recomputation": {"ratio": 1.2}}))
    path.write_text(json.dumps(data), "utf-8")
    found = ablate("--claims", "--measured", str(path))
    assert found.exit_code == 0, found.output
    assert "recompute is 0.80x default [" in found.output
    assert "1.20x the FLOPs of a step" in found.output
    assert "on a CPU, 2 cores" in found.output
    assert "envdoctor ablate --claims --measure" in found.output


def test_environments_kept_beside_the_settings_answer_the_claim_about_versions(tmp_path: Path) -> None:
    old, new = Variant(name="old", environment=Path("old")), Variant(name="new", environment=Path("new"))
    reports = {"old": [report(10.0), report(10.0)], "new": [report(10.1), report(10.1)]}
    data = slim(made())
    data["environments"] = [slim(document(evaluate((old, new), reports), reports))]
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(data), "utf-8")
    found = ablate("--claims", "--measured", str(path))
    assert "new is 1.01x old" in found.output


def test_a_kept_document_is_small_says_the_same_and_names_no_machine() -> None:
    data = made(command="x")
    small = slim(data)
    assert "secret" not in json.dumps(small)
    assert len(json.dumps(small)) < len(json.dumps(data))
    assert [row["ratio"] for row in small["rows"]] == [row["ratio"] for row in data["rows"]]
    first = small["reports"]["default"][0]
    assert len(first["windows"]) == len(data["reports"]["default"][0]["windows"])
    assert set(first["windows"][0]) == {"steps", "seconds", "tokens"}


@pytest.mark.parametrize("text", ["{}", '{"schema": 1}', "[]"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, "utf-8")
    found = ablate("--claims", "--measured", str(path))
    assert found.exit_code != 0
    assert "not the JSON of an ablation" in str(found.exception)


def test_the_kept_measurement_can_be_judged_again_and_says_where_it_was_made() -> None:
    path = bundle.lockfiles() / KEPT
    data = json.loads(path.read_text("utf-8"))
    assert path.stat().st_size < 300_000
    assert data["conditions"]["command"].startswith("envdoctor ablate --claims")
    assert data["conditions"]["device"]["cores"]
    assert "machine" not in data["conditions"]["device"]
    rows, _, found = _earlier(path)
    kept = {row["name"]: row["ratio"] for row in data["rows"]}
    for (name, _), row in rows.items():
        if name in kept:
            assert row.ratio == (kept[name] and pytest.approx(kept[name], rel=1e-4))
    assert set(found) >= {name for name, _ in ANSWERS.values()}
    answers = claims.table(rows, device="cpu", found=found)
    assert {answer.claim.number for answer in answers if answer.measured} >= set(ANSWERS)
    assert {answer.claim.number for answer in answers if answer.status == "needs-gpu"} == {3, 4, 18, 21}
    for answer in answers:
        if answer.status == "not-measured":
            timed = {name for (name, _), row in rows.items() if row.ratio is not None}
            assert not set(answer.claim.variants) <= timed, answer.claim.number
