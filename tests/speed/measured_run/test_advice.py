from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import Trouble
from envdoctor.speed.measured_run.advice import diagnose_run, loader_line, run_json, workers_needed
from envdoctor.speed.measured_run.record import Loader, Record, parse, read
from envdoctor.speed.report import Device, Window
from tests.speed.test_verdict import KEYS

HEALTHY = {
    "data": 0.01,
    "copy": 0.0,
    "forward": 0.3,
    "backward": 0.55,
    "optimizer": 0.12,
    "checkpoint": 0.0,
    "other": 0.02,
}
CPU = Device(type="cpu", name="a CPU", cpu_model="a CPU", threads=8, cores=8)
H100 = Device(type="cuda", name="NVIDIA H100 80GB HBM3", capability="9.0", cpu_model="a CPU", threads=8, cores=8)
TOKENS = {"looked": 32, "examples": 256, "slots": 32 * 8 * 512, "real": 32 * 8 * 480, "trained": 32 * 8 * 300}


def windows(parts: dict[str, float], rates: tuple[float, ...] = (10.0,) * 10) -> tuple[Window, ...]:
    return tuple(
        Window(steps=20, seconds=20 / rate, breakdown={p: share * 20 / rate for p, share in parts.items()})
        for rate in rates
    )


def record(parts: dict[str, float] | None = None, **changes: Any) -> Record:
    made = Record(
        schema=1,
        steps=220,
        seconds=25.0,
        device=H100,
        program="train.py",
        pid=7,
        windows=windows(parts or HEALTHY),
        waits=220,
        loaders=(Loader(dataset="Chats", length=2000, batch_size=8, workers=4, pin_memory=True, collate="pad"),),
        batches=TOKENS,
        versions={"torch": "2.13.0"},
        ended="exit",
    )
    return replace(made, **changes)


def shares(**parts: float) -> dict[str, float]:
    rest = 1.0 - sum(parts.values())
    return {**dict.fromkeys(HEALTHY, 0.0), "forward": rest * 0.3, "backward": rest * 0.7, **parts}


def loaders(**changes: Any) -> tuple[Loader, ...]:
    return (replace(record().loaders[0], **changes),)


LINES = (
    ("data", "train.py", 37, "__getitem__", 400),
    ("other", "train.py", 60, "evaluate", 90),
    ("forward", "m.py", 3, "f", 9),
)

CASES: list[tuple[str, Record, str | None, str, str]] = [
    # name, record, cause, part of the first advice, part of the line to write
    ("a healthy GPU run", record(), None, "", ""),
    ("a healthy CPU run", record(device=CPU, loaders=loaders(workers=0)), None, "", ""),
    (
        "seed 004: the GPU idle for 83 % of the time",
        record(shares(data=0.83), loaders=loaders(workers=0, batch_size=1, pin_memory=False), lines=LINES),
        "data",
        "waits 83% of its time for data, which is made on the training thread, most of it in train.py:37 (__getitem__)",
        "DataLoader(dataset, batch_size=1, num_workers=6, pin_memory=True, persistent_workers=True, prefetch_factor=2)",
    ),
    (
        "too few workers",
        record(shares(data=0.4), loaders=loaders(workers=2)),
        "data",
        "waits 40% of its time for 2 workers: use 4",
        "num_workers=4",
    ),
    (
        "as many workers as cores already",
        record(shares(data=0.4), loaders=loaders(workers=8)),
        "data",
        "8 workers on 8 cores cannot do more",
        "",
    ),
    (
        "on two CPU cores one worker is all there is",
        record(shares(data=0.8), device=replace(CPU, threads=2, cores=2), loaders=loaders(workers=0)),
        "data",
        "do it once before training",
        "DataLoader(dataset, batch_size=8, num_workers=1, persistent_workers=True, prefetch_factor=2)",
    ),
    (
        "ranks share the cores",
        record(shares(data=0.8), loaders=loaders(workers=0), local_ranks=4, rank=0, world=4),
        "data",
        "made on the training thread",
        "num_workers=1",
    ),
    ("waiting a little is fine", record(shares(data=0.08)), None, "", ""),
    (
        "blocking launches",
        record(variables={"CUDA_LAUNCH_BLOCKING": "1"}),
        "settings",
        "CUDA_LAUNCH_BLOCKING",
        "unset CUDA_LAUNCH_BLOCKING",
    ),
    ("blocking launches, switched off", record(variables={"CUDA_LAUNCH_BLOCKING": "0"}), None, "", ""),
    (
        "blocking launches do not matter on a CPU",
        record(device=CPU, variables={"CUDA_LAUNCH_BLOCKING": "1"}),
        None,
        "",
        "",
    ),
    ("anomaly detection", record(anomaly_detection=True), "settings", "set_detect_anomaly is on", "(False)"),
    (
        "one thread of eight",
        record(device=replace(CPU, threads=1), loaders=loaders(workers=0), variables={"OMP_NUM_THREADS": "1"}),
        "settings",
        "computes with 1 of 8 free cores (OMP_NUM_THREADS)",
        "OMP_NUM_THREADS=8",
    ),
    ("one thread of eight beside a GPU is fine", record(device=replace(H100, threads=1)), None, "", ""),
    (
        "threads and workers share the cores",
        record(device=replace(CPU, threads=4), loaders=loaders(workers=4)),
        None,
        "",
        "",
    ),
    (
        "one thread per rank",
        record(device=replace(CPU, threads=1), local_ranks=8, loaders=loaders(workers=0)),
        None,
        "",
        "",
    ),
    (
        "more threads than cores",
        record(device=replace(CPU, threads=64)),
        "settings",
        "64 threads on 8 cores",
        "OMP_NUM_THREADS=8",
    ),
    (
        "padding",
        record(batches={**TOKENS, "real": TOKENS["slots"] // 4}),
        "data",
        "75% of the token slots",
        "group_by_length",
    ),
    (
        "evaluation in the loop",
        record(shares(other=0.5), lines=LINES),
        "settings",
        "50% of the time passes between the steps' work, most of it in train.py:60 (evaluate)",
        "",
    ),
    (
        "the largest loss comes first",
        record(shares(data=0.6, other=0.3), loaders=loaders(workers=0)),
        "data",
        "waits 60%",
        "num_workers",
    ),
    ("too short to judge", record(shares(data=0.9), steps=5), None, "", ""),
    ("nothing timed", record(windows=()), None, "", ""),
    ("no loader at all", record(shares(data=0.0), waits=0, loaders=(), lines=LINES), None, "", ""),
]


@pytest.mark.parametrize(
    ("run", "cause", "said", "line"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_advice(run: Record, cause: str | None, said: str, line: str) -> None:
    diagnosis = diagnose_run([run])
    assert diagnosis.verdict.cause == cause
    assert bool(diagnosis.advice) == (cause is not None), diagnosis.advice
    if diagnosis.advice:
        first = diagnosis.advice[0]
        assert said in first.text
        assert line in "\n".join(first.lines)
        assert 0 < first.saves < 1
    found = run_json(diagnosis)
    json.dumps(found, allow_nan=False)
    assert list(found) == KEYS
    assert found["verdict"] == "not-comparable"
    assert found["interval"] is None
    assert found["workload"] == "train.py"


def test_reasons_say_what_was_seen_even_when_there_is_no_advice() -> None:
    assert "nothing holds it back" in diagnose_run([record()]).verdict.reasons[1]
    assert "only 5 steps" in diagnose_run([record(steps=5)]).verdict.reasons[1]
    manual = diagnose_run([record(waits=0, loaders=(), lines=LINES)]).verdict.reasons[1]
    assert "train.py:37 (__getitem__) 80%" in manual


def test_company_on_the_machine_is_told_but_not_blamed() -> None:
    diagnosis = diagnose_run([record(contention={"during": 0.7, "load": [9.0, 9.0, 9.0]})])
    assert diagnosis.verdict.cause is None
    assert "tasks waited for a CPU core in 70%" in diagnosis.verdict.reasons[-1]


def test_the_rank_that_waits_longest_is_judged() -> None:
    slow = record(shares(data=0.5), rank=1, world=2, loaders=loaders(workers=1))
    found = run_json(diagnose_run([record(rank=0, world=2), slow]))
    assert found["cause"] == "data"
    assert [(rank["rank"], rank["data"]) for rank in found["conditions"]["ranks"]] == [(0, 0.01), (1, 0.5)]


def test_tokens_come_from_the_batches_that_were_looked_at() -> None:
    found = run_json(diagnose_run([record(waits=440)]))  # two micro-batches per step
    assert found["steps_per_second"] == pytest.approx(10.0)
    assert found["tokens_per_second"]["slots"] == pytest.approx(2 * 8 * 512 * 10)
    assert found["tokens_per_second"]["real"] == pytest.approx(2 * 8 * 480 * 10)


def test_slow_first_windows_are_warm_up() -> None:
    run = record(windows=windows(HEALTHY, (1.0, 5.0, 10.0, 10.0, 9.9, 10.1)))
    assert [round(window.rate, 1) for window in run.steady_windows] == [10.0, 10.0, 9.9, 10.1]
    assert run_json(diagnose_run([run]))["steps_per_second"] == pytest.approx(10.0)


def test_without_a_record_there_is_nothing_to_judge() -> None:
    with pytest.raises(ValueError, match="nothing was recorded"):
        diagnose_run([])


@given(st.floats(0.0, 1.0), st.integers(0, 64), st.integers(1, 64))
def test_workers_leave_a_core_and_are_never_fewer_than_useful(share: float, workers: int, cores: int) -> None:
    needed = workers_needed(share, workers, cores)
    assert needed >= 1
    assert needed <= max(cores - 1, 2, workers)


def test_the_line_keeps_what_the_loader_has() -> None:
    assert loader_line(Loader(batch_size=None, prefetch_factor=8), 3, "cuda") == (
        "DataLoader(dataset, num_workers=3, pin_memory=True, persistent_workers=True, prefetch_factor=8)"
    )


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
