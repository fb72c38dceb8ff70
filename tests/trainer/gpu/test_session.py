"""What keeps a costly measurement from being lost: failures, deadlines, a lost device, and going on from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.benchmarks.gpu import everything
from tests.benchmarks.gpu.__main__ import MEASUREMENTS, main
from tests.benchmarks.gpu.session import AGAIN, Session, read
from tests.benchmarks.gpu.timing import distance, seconds_of

CPU = torch.device("cpu")


def session(output: Path, size: str = "toy", minutes: float = 1.0, only: tuple[str, ...] = ()) -> Session:
    return Session("trial", size, CPU, minutes, output, only)


def fails() -> dict[str, Any]:
    raise RuntimeError("CUDA out of memory. Tried to allocate 20 GiB\nmore lines")


def test_one_failure_is_kept_and_the_rest_goes_on(tmp_path: Path) -> None:
    one = session(tmp_path / "r.json")
    assert one.attempt("a", fails) is None
    assert one.attempt("b", lambda: {"value": 2}) == {"value": 2}
    rows = read(tmp_path / "r.json")["trial"]["rows"]
    assert rows["a"]["error"] == "RuntimeError: CUDA out of memory. Tried to allocate 20 GiB"
    assert rows["b"]["value"] == 2


def test_what_is_in_the_file_is_not_measured_again(tmp_path: Path) -> None:
    session(tmp_path / "r.json").attempt("a", lambda: {"value": 1})
    assert session(tmp_path / "r.json").attempt("a", fails)["value"] == 1  # type: ignore[index]


def test_rows_of_another_size_do_not_count(tmp_path: Path) -> None:
    session(tmp_path / "r.json").attempt("a", lambda: {"value": 1})
    assert session(tmp_path / "r.json", size="full").attempt("a", lambda: {"value": 3}) == {"value": 3}


def test_what_has_no_time_left_is_said_and_done_by_the_next_call(tmp_path: Path) -> None:
    assert session(tmp_path / "r.json", "full", minutes=0.1).attempt("a", lambda: {"value": 1}, seconds=60) is None
    assert "were left of the 60" in read(tmp_path / "r.json")["trial"]["rows"]["a"]["not run"]
    assert session(tmp_path / "r.json", "full").attempt("a", lambda: {"value": 1}, seconds=5) == {"value": 1}


def test_a_lost_device_ends_the_process_so_that_a_new_one_goes_on(tmp_path: Path) -> None:
    def lost() -> dict[str, Any]:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def measure(one: Session) -> None:
        one.attempt("first", lost)
        one.attempt("second", lambda: {"value": 2})

    assert session(tmp_path / "r.json").run(measure) == AGAIN
    assert session(tmp_path / "r.json").run(measure) == 0
    rows = read(tmp_path / "r.json")["trial"]["rows"]
    assert "illegal" in rows["first"]["error"]
    assert rows["second"]["value"] == 2


def test_nothing_but_failures_is_a_failure(tmp_path: Path) -> None:
    assert session(tmp_path / "r.json").run(lambda one: one.attempt("a", fails) and None) == 1


def test_only_chosen_rows(tmp_path: Path) -> None:
    one = session(tmp_path / "r.json", only=("flash",))
    assert one.attempt("cudnn 64", lambda: {"value": 1}) is None
    assert one.attempt("flash 64", lambda: {"value": 1}) == {"value": 1}
    assert list(one.rows) == ["flash 64"]


def test_measurements_share_one_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        Session(name, "toy", CPU, 1.0, tmp_path / "r.json").attempt("a", lambda: {"value": 1})
    assert set(read(tmp_path / "r.json")) == {"one", "two"}
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        everything.replace(tmp_path / "r.json", {("a", "b"): 1})  # type: ignore[dict-item]
    assert not (tmp_path / "r.json").exists()


@pytest.mark.parametrize("words", [[], ["nonsense"]])
def test_an_unknown_name_lists_the_known_ones(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert all(name in said for name in MEASUREMENTS)


def test_every_measurement_has_its_minutes() -> None:
    assert list(everything.MINUTES) == list(MEASUREMENTS)
    assert all(0 < least <= most < 10 for most, least in everything.MINUTES.values())


def test_all_refuses_a_name_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as caught:
        everything.main(["nonsense", "--output", str(tmp_path / "r.json")])
    assert caught.value.code == 2


def test_all_begins_nothing_that_has_no_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert everything.main(["probes", "--minutes", "0.01", "--output", str(tmp_path / "r.json")]) == 1
    assert "not begun" in capsys.readouterr().out


def test_all_goes_on_from_an_earlier_file(tmp_path: Path) -> None:
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps({"probes": {"rows": {}, "table": ["kept"]}}))
    output = tmp_path / "out" / "r.json"
    everything.main(["attention", "--minutes", "0", "--resume", str(earlier), "--output", str(output)])
    assert read(output)["probes"]["table"] == ["kept"]


@pytest.mark.slow
def test_all_runs_each_in_a_process_of_its_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["probes", "attention", "--size", "toy", "--device", "cpu", "--output", str(tmp_path / "r.json")]
    assert everything.main(words) == 0
    whole = read(tmp_path / "r.json")
    assert whole["probes"]["rows"]["round 0"]["copy_gbs"] > 0
    assert "error" not in whole["attention"]["rows"]["packed documents width 16"]
    assert "======== summary" in capfd.readouterr().out


def test_times_are_of_single_calls() -> None:
    import time

    found = seconds_of(lambda: time.sleep(0.01), CPU, least=5, budget=0.01, warmup=0)
    assert 0.01 <= found.low <= found.median <= found.high
    assert found.count >= 5


@pytest.mark.parametrize(("value", "expected"), [(1.0, 0.0), (1.5, 0.5), (float("nan"), float("inf"))])
def test_distance(value: float, expected: float) -> None:
    assert distance(torch.full((3,), value), torch.ones(3)) == pytest.approx(expected)


@pytest.mark.parametrize("without_venv", [False, True])
def test_the_program_runs_in_an_interpreter_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_venv: bool
) -> None:
    from tests.benchmarks.gpu import program

    if without_venv:
        monkeypatch.setitem(__import__("sys").modules, "venv", None)
    python = program.interpreter(tmp_path / "apart")
    done = program.run([python, "-c", "import trainer, numpy, sys; print(sys.prefix)"], 60, tmp_path)
    assert done.code == 0, done.err
    assert (done.out.strip() == str(tmp_path / "apart")) != without_venv
