"""Records that are read: by rank, broken, cut off; and what of them is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from envdoctor.errors import Trouble
from envdoctor.speed.measured_run.advice import diagnose_run, run_json
from envdoctor.speed.measured_run.record import parse, read
from tests.speed.measured_run.records import HEALTHY, record, windows


def test_tokens_come_from_the_batches_that_were_looked_at() -> None:
    found = run_json(diagnose_run([record(waits=440)]))  # two micro-batches per step
    assert found["steps_per_second"] == pytest.approx(10.0)
    assert found["tokens_per_second"]["slots"] == pytest.approx(2 * 8 * 512 * 10)
    assert found["tokens_per_second"]["real"] == pytest.approx(2 * 8 * 480 * 10)


def test_slow_first_windows_are_warm_up() -> None:
    run = record(windows=windows(HEALTHY, (1.0, 5.0, 10.0, 10.0, 9.9, 10.1)))
    assert [round(window.rate, 1) for window in run.steady_windows] == [10.0, 10.0, 9.9, 10.1]
    assert run_json(diagnose_run([run]))["steps_per_second"] == pytest.approx(10.0)


def raw(**changes: Any) -> dict[str, Any]:
    device = {"type": "cpu", "name": "x", "threads": 2, "cores": 2}
    window = {"steps": 3, "seconds": 1.0, "breakdown": {"data": 0.5}}
    return {"schema": 1, "steps": 9, "seconds": 3.0, "device": device, "windows": [window], **changes}


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ([], "schema"),
        (raw(schema=9), "schema"),
        (raw(steps="many"), "steps"),
        (raw(device=None), "device"),
        (raw(windows=[{"steps": 0, "seconds": 1.0}]), "windows[0]"),
        (raw(windows=[{"steps": 1, "seconds": float("nan")}]), "windows[0].seconds"),
        (raw(loaders=[{"workers": "4"}]), "loaders[0].workers"),
    ],
)
def test_a_broken_record_is_named(data: object, where: str) -> None:
    with pytest.raises(Trouble) as caught:
        parse(data, Path("run-1.json"))
    assert caught.value.where == where


def test_records_are_read_by_rank_and_a_restarted_worker_counts_once(tmp_path: Path) -> None:
    for pid, rank, steps in ((11, 1, 90), (12, 0, 5), (13, 0, 80)):
        (tmp_path / f"run-{pid}.json").write_text(json.dumps(raw(rank=rank, steps=steps, pid=pid)))
    (tmp_path / "run-14.json.tmp").write_text("{")
    assert [(r.rank, r.steps) for r in read(tmp_path)] == [(0, 80), (1, 90)]


def test_processes_without_ranks_are_all_kept(tmp_path: Path) -> None:
    for pid in (11, 12):
        (tmp_path / f"run-{pid}.json").write_text(json.dumps(raw(pid=pid, steps=pid)))
    assert [record.pid for record in read(tmp_path)] == [12, 11]


def test_a_truncated_record_is_trouble(tmp_path: Path) -> None:
    (tmp_path / "run-1.json").write_text(json.dumps(raw())[:-9])
    with pytest.raises(Trouble, match="not valid JSON"):
        read(tmp_path)


def test_odd_lines_are_left_out() -> None:
    run = parse(raw(lines=[["data", "a.py", 1, "f", 2], ["data", "a.py"], ["data", "a.py", "x", "f", 2]]))
    assert [line.file for line in run.seen_lines] == ["a.py"]
