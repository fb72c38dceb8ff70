"""`verify --why`: which suspects there are, which one is named, and what is said when none explains it."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from envdoctor.render.speed import document, render
from envdoctor.speed.ablation.suspects import AS_IT_IS, Suspect, SuspectAblation, as_json, conclude, suspects
from envdoctor.speed.cost import Price, at_speed, cost
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Report
from envdoctor.speed.verdict import judge
from tests.speed.making import CPU_PROBES, PARTS, baseline, cpu_report, target, windows

BASE = baseline(1.5, like=cpu_report(1.5), stack="cpu")
LIKE = target(gpu_names=(), flags={})


def verdict(**changes: Any) -> Verdict:
    return judge([cpu_report(1.2, **changes)] * 3, BASE, target=LIKE)


def names(found: tuple[Suspect, ...]) -> list[str]:
    return [suspect.mended.name for suspect in found]


def test_variables_that_reach_torch_are_suspects_one_by_one() -> None:
    shell = {"OMP_THREAD_LIMIT": "1", "MKL_CBWR": "COMPATIBLE", "HOME": "/root", "CUDA_VISIBLE_DEVICES": "0"}
    found, untried = suspects(verdict(), LIKE, shell)
    assert names(found) == ["without MKL_CBWR", "without OMP_THREAD_LIMIT"]
    assert [suspect.unset for suspect in found] == [("MKL_CBWR",), ("OMP_THREAD_LIMIT",)]
    assert found[0].what == "MKL_CBWR=COMPATIBLE"
    assert any(text.startswith("data: a step waits 1.0%") for text in untried)


def test_many_variables_share_the_last_run() -> None:
    found, _ = suspects(verdict(), LIKE, {f"MKL_{n}": "1" for n in range(9)})
    assert len(found) == 6
    assert len(found[-1].unset) == 4


def test_settings_unlike_the_baselines_are_suspects() -> None:
    slow = verdict(settings={"precision": "bfloat16", "attention": "documents"})
    found, _ = suspects(slow, LIKE, {})
    assert found[0].mended.settings == {"precision": "float32"}
    assert found[0].what == "precision bfloat16 (the baseline: float32)"


def test_waiting_for_data_is_a_suspect_when_the_baseline_did_not() -> None:
    slow = verdict(windows=windows(1.2, parts={**PARTS, "data": 0.3}))
    found, _ = suspects(slow, LIKE, {})
    assert [suspect.cause for suspect in found] == ["data"]
    assert found[0].mended.settings["prefetch"] == 2


def test_versions_are_tried_where_there_is_an_environment_to_try_them_in(tmp_path: Path) -> None:
    slow = verdict(versions={"torch": "2.9.0+cpu"})
    found, untried = suspects(slow, LIKE, {})
    assert not found
    assert any("torch 2.9.0+cpu instead of" in text and "envdoctor fix" in text for text in untried)
    found, _ = suspects(slow, LIKE, {}, tmp_path)
    assert (found[0].cause, found[0].mended.environment) == ("stack", tmp_path)


def runs(rate: float, **changes: Any) -> list[Report]:
    return [cpu_report(rate * (1.0 + 0.002 * number), **changes) for number in range(3)]


def tried(**rates: float) -> tuple[SuspectAblation, tuple[Suspect, ...]]:
    """An ablation into as many suspects as rates are given, with 1.2 steps per second as it is."""
    found, untried = suspects(verdict(), LIKE, dict.fromkeys(rates, "1"))
    reports = {AS_IT_IS.name: runs(1.2)}
    reports |= {f"without {name}": runs(rate) for name, rate in rates.items()}
    return conclude(found, untried, reports, verdict()), found


def test_the_suspect_whose_absence_helps_most_is_named() -> None:
    ablation, _ = tried(MKL_CBWR=1.5, OMP_SCHEDULE=1.2, KMP_BLOCKTIME=1.3)
    assert ablation.cause == "settings"
    assert ablation.suspect is not None
    assert ablation.suspect.unset == ("MKL_CBWR",)
    assert ablation.gain == pytest.approx(1.25, rel=0.01)
    assert "1.25x as fast" in ablation.sentence
    assert {row.word for _, row in ablation.rows} == {"equal", "faster"}


@pytest.mark.parametrize("rate", [1.2, 1.224, 1.1, 1.0])
def test_what_helps_by_less_than_three_percent_or_harms_is_not_named(rate: float) -> None:
    ablation, _ = tried(MKL_CBWR=rate)
    assert ablation.suspect is None
    assert ablation.cause is None


def test_without_a_guilty_suspect_the_machines_probes_are_asked() -> None:
    slow = {name: speed * 0.85 for name, speed in CPU_PROBES.items()}
    ablation = conclude((), ("settings: none",), {}, verdict(probes=slow))
    assert ablation.cause == "machine"
    assert "0.85x" in ablation.sentence


def test_runs_that_had_to_wait_name_the_neighbour_not_a_suspect() -> None:
    found, untried = suspects(verdict(), LIKE, {"MKL_CBWR": "1"})
    busy: dict[str, Any] = {"contention": {"during": 0.5, "load": [4.0, 4.0, 4.0]}}
    reports = {AS_IT_IS.name: runs(1.2, **busy), "without MKL_CBWR": runs(1.2, **busy)}
    assert conclude(found, untried, reports, verdict()).cause == "contention"


def test_a_suspect_whose_runs_fail_is_a_row_that_says_so() -> None:
    found, untried = suspects(verdict(), LIKE, {"MKL_CBWR": "1"})
    failed = [replace(cpu_report(1.2), windows=(), error={"message": "no such kernel"})] * 3
    ablation = conclude(found, untried, {AS_IT_IS.name: runs(1.2), "without MKL_CBWR": failed}, verdict())
    assert ablation.suspect is None
    assert ablation.rows[0][1].remark == "no such kernel"
    assert "failed: no such kernel" in _text(verdict(), ablation)


def _text(found: Verdict, ablation: SuspectAblation) -> str:
    console = Console(file=StringIO(), width=160, highlight=False)
    render(found, console, ablation)
    stream = console.file
    assert isinstance(stream, StringIO)
    return stream.getvalue()


def test_a_person_and_a_program_read_the_same_answer() -> None:
    ablation, _ = tried(MKL_CBWR=1.5)
    money = cost(3558, 1.2, Price.parse("$2.49/h"))
    found = replace(verdict(), cause="settings", cost=money, fixed=at_speed(money, ablation.gain or 1.0))
    text = _text(found, ablation)
    assert "without MKL_CBWR  (MKL_CBWR=1)" in text
    assert "unset MKL_CBWR" in text
    assert "your run: 49 min 25 s, $2.05 at $2.49/h; mended: 39 min 32 s, $1.64 at $2.49/h" in text
    data = document(found, ablation)
    assert json.loads(json.dumps(data["why"])) == as_json(ablation)
    assert data["why"]["tried"][0]["ratio"] == pytest.approx(1.25, rel=0.01)
    assert data["cost"]["fixed"]["seconds"] == pytest.approx(2372, rel=0.01)
    assert "why" not in document(found)
