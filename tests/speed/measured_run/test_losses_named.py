"""Scripts that lose time in one way each, run through the command as a user runs it: the loss is named, its line too.

Nothing here asserts how long anything takes: a diagnosis must hold on a busy machine as well.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from envdoctor.system import process
from envdoctor.system.process import Outcome

pytestmark = pytest.mark.slow
SCRIPTS = Path(__file__).parent / "scripts"


def run(folder: Path, *argv: str, threads: str | None = None, options: tuple[str, ...] = ()) -> tuple[Outcome, Any]:
    """``envdoctor run --measure`` on a script: the outcome (stderr holds the report), and the JSON."""
    path = folder / "run.json"
    variables = {name: value for name, value in os.environ.items() if "THREADS" not in name}
    variables |= {"COLUMNS": "300", "XDG_STATE_HOME": str(folder / "state")}
    if threads is not None:
        variables["OMP_NUM_THREADS"] = threads
    doctor = [sys.executable, "-m", "envdoctor", "run", "--env", sys.prefix, "--target", "cpu", "--measure"]
    command = [*doctor, *options, "-o", f"json={path}", "--", "python", *argv]
    outcome = process.run(command, deadline=280, env=variables, cwd=SCRIPTS)
    return outcome, json.loads(path.read_text("utf-8")) if path.exists() else None


def causes(found: Any) -> list[str]:
    return [advice["cause"] for advice in found["conditions"]["advice"]]


def losses(output: str) -> list[str]:
    return re.findall(r"loss (\d+\.\d+)", output)


def test_write_up_004_waits_for_its_tokenizer_and_the_line_that_is_written_ends_that(tmp_path: Path) -> None:
    outcome, before = run(tmp_path, "write_up_004.py", "8", threads="1")
    assert outcome.ok, outcome.err
    advice = before["conditions"]["advice"][0]
    share = before["breakdown"]["data"]
    assert before["cause"] == "data"
    assert share > 0.5
    assert f"the step waits {share:.0%} of its time for data, which is made on the training thread" in advice["text"]
    assert re.search(
        r"most of it in write_up_004\.py:\d+ \((tokenise|__getitem__|<listcomp>|<genexpr>)\)", advice["text"]
    )
    assert "keep the 25 examples, each made 8 times already" in advice["text"]
    assert advice["text"][1:] in outcome.err
    line = advice["lines"][0].partition("  #")[0]

    source = (SCRIPTS / "write_up_004.py").read_text("utf-8")
    changed = tmp_path / "write_up_004.py"
    changed.write_text(source.replace("dataset = Chats()\n", f"dataset = Chats()\n    {line}\n"), "utf-8")
    outcome_after, after = run(tmp_path, str(changed), "120", threads="1")
    assert outcome_after.ok, outcome_after.err
    assert losses(outcome_after.out)[:8] == losses(outcome.out), "the same training"
    assert "data" not in causes(after)
    assert after["breakdown"]["data"] < share / 2
    assert after["steps_per_second"] > before["steps_per_second"]


def test_the_loader_that_is_written_trains_the_same_and_is_seen_to_have_workers(tmp_path: Path) -> None:
    outcome, before = run(tmp_path, "write_up_004.py", "4", threads="1")
    advice = next(one for one in before["conditions"]["advice"] if one["cause"] == "data")
    line = advice["lines"][1].partition("  #")[0]
    assert "batch_size=1, shuffle=True, num_workers=" in line
    source = (SCRIPTS / "write_up_004.py").read_text("utf-8")
    changed = tmp_path / "write_up_004.py"
    changed.write_text(source.replace("DataLoader(dataset, batch_size=1, shuffle=True)", line), "utf-8")
    outcome_after, after = run(tmp_path, str(changed), "4", threads="1")
    assert outcome_after.ok, outcome_after.err
    assert losses(outcome_after.out)[0] == losses(outcome.out)[0], "the same order, the same training"
    # Workers that stay draw no seed for an epoch: from the second on the shuffle is another, and all else is equal.
    leaving = tmp_path / "leaving.py"
    leaving.write_text(changed.read_text("utf-8").replace(", persistent_workers=True", ""), "utf-8")
    outcome_leaving, _ = run(tmp_path, str(leaving), "4", threads="1")
    assert losses(outcome_leaving.out) == losses(outcome.out), "the same order, the same training"
    for one, other in zip(losses(outcome_after.out), losses(outcome.out), strict=True):
        assert float(one) == pytest.approx(float(other), rel=0.02)
    assert "on the training thread" not in json.dumps(after["conditions"]["advice"])


def test_a_switch_hidden_in_the_script_is_found_by_its_name(tmp_path: Path) -> None:
    outcome, found = run(tmp_path, "blocking.py")
    assert outcome.ok, outcome.err
    assert "CUDA_LAUNCH_BLOCKING=1 is set: no effect on a CPU; on a GPU the host waits for every kernel" in outcome.err
    assert "CUDA_LAUNCH_BLOCKING" not in json.dumps(found["conditions"]["advice"])


# Not with 16: torch and MKL cap OMP_NUM_THREADS at the cores by themselves, and no advice is then right.
@pytest.mark.parametrize(("threads", "said"), [("1", "torch computes with 1 of")])
def test_a_wrong_number_of_threads(tmp_path: Path, threads: str, said: str) -> None:
    cores = len(os.sched_getaffinity(0))
    if not 1 < cores < 16:
        pytest.skip(f"on {cores} cores these are the right numbers")
    outcome, found = run(tmp_path, "healthy.py", "150", threads=threads, options=("--stop-after", "100"))
    assert outcome.ok, outcome.err
    (advice,) = (one for one in found["conditions"]["advice"] if "threads" in one["text"] or "cores" in one["text"])
    assert advice["cause"] == "settings"
    assert advice["text"].startswith(said)
    assert advice["lines"] == [f"export OMP_NUM_THREADS={cores}"]


@pytest.mark.parametrize(
    ("way", "said", "written"),
    [
        ("fixed", "every batch is 256 tokens wide, the longest example has 150", "DataCollatorWithPadding"),
        ("longest", "pack documents, or batch by length", "rows.sort(key=len)"),
        ("sorted", "", ""),
    ],
)
def test_padding_is_counted_and_told_apart(tmp_path: Path, way: str, said: str, written: str) -> None:
    outcome, found = run(tmp_path, "padded.py", way, threads="1")
    assert outcome.ok, outcome.err
    padding = [one for one in found["conditions"]["advice"] if "padding" in one["text"]]
    if not said:
        assert padding == []
        return
    assert said in padding[0]["text"]
    assert written in "\n".join(padding[0]["lines"])


def test_a_healthy_script_gets_no_advice(tmp_path: Path) -> None:
    outcome, found = run(tmp_path, "healthy.py", "300")
    assert outcome.ok, outcome.err
    assert found["conditions"]["advice"] == []
    assert found["cause"] is None
    assert "nothing holds it back" in outcome.err
    assert "▸" not in outcome.err


def test_stop_after_ends_the_run_and_the_whole_run_is_priced(tmp_path: Path) -> None:
    options = ("--stop-after", "60", "--steps", "3600", "--price", "2/h")
    outcome, found = run(tmp_path, "healthy.py", "300", options=options)
    assert outcome.code == 0
    assert outcome.out == ""  # what the script prints after its loop was not reached
    assert "Traceback" not in outcome.err
    assert "ended after 60 steps, as asked by --stop-after" in outcome.err
    (process_found,) = found["conditions"]["ranks"]
    assert (process_found["steps"], process_found["ended"]) == (60, "stopped")
    assert found["cost"]["seconds"] == pytest.approx(3600 / found["steps_per_second"], rel=1e-3)
    assert found["cost"]["money"] == pytest.approx(found["cost"]["seconds"] / 3600 * 2, rel=1e-3)


def test_stop_after_without_measuring_is_refused(tmp_path: Path) -> None:
    doctor = [sys.executable, "-m", "envdoctor", "run", "--stop-after", "9", "--", "python", "healthy.py"]
    outcome = process.run(doctor, deadline=60, cwd=SCRIPTS)
    assert outcome.code == 2
    assert "--measure" in outcome.err


def test_versions_and_flags_stand_beside_those_of_the_lock(tmp_path: Path) -> None:
    outcome, found = run(tmp_path, "healthy.py", "60", options=("--stop-after", "30"))
    ran = found["conditions"]["ran_with"]
    versions = {row["name"]: row for row in ran["packages"]}
    assert ran["target"] == "cpu"
    assert versions["torch"]["ran"].startswith("2.")
    assert {"float32-matmul-precision", "threads", "sdp"} <= {row["name"] for row in ran["flags"]}
    assert "ran with torch 2." in outcome.err
    if ran["stack"] is not None:
        assert versions["torch"]["wanted"] is not None


def test_finished_runs_are_kept_under_their_name_and_unfit_ones_are_not(tmp_path: Path) -> None:
    file = tmp_path / "state" / "envdoctor" / "baselines" / "mine.json"
    kept = 0
    for _ in range(2):
        outcome, found = run(tmp_path, "healthy.py", "300", threads="1", options=("--repeat-baseline", "mine"))
        assert outcome.ok, outcome.err
        assert found["verdict"] == "not-comparable"  # three are needed
        now = len(json.loads(file.read_text("utf-8"))["runs"]) if file.exists() else 0
        said = f"run {kept + 1} of baseline 'mine' is kept" in outcome.err
        assert said or "this run is not kept for baseline 'mine'" in outcome.err
        assert now == kept + said
        kept = now
