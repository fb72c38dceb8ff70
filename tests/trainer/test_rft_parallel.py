"""Rejection fine-tuning in two processes: one samples, all train, and a run that was killed goes on where it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainer.compute.test_parallel import workers_of
from tests.trainer.launching import finish, furthest, single, start, torchrun, weights
from tests.trainer.test_rft import pupil, values  # noqa: F401 - fixtures

pytestmark = pytest.mark.slow


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / "run" / "rft" / name).read_bytes() for name in ("samples.jsonl", "accepted.jsonl")}


def answers(content: bytes) -> list:
    return [json.loads(line).get("answers") for line in content.splitlines()]


def killed_when(reached: Callable[[], bool], child: subprocess.Popen) -> str:
    """Kill launcher and processes, none of which can say anything more; what they had said."""
    deadline = time.monotonic() + 150
    while time.monotonic() < deadline and not reached():
        assert child.poll() is None, child.communicate()[1][-3000:]
        time.sleep(0.002)
    everyone = [child.pid, *workers_of(child)]
    assert len(everyone) == 3
    for number in everyone:
        os.kill(number, signal.SIGKILL)
    return child.communicate(timeout=60)[1]


def test_two_processes_sample_once_and_train_as_one_and_go_on_after_kills(values: dict, tmp_path: Path) -> None:  # noqa: F811
    values = {**values, "samples_per_prompt": 40, "sample_batch": 4, "precision": "float32", "epochs": 3}
    values.update(tokens_per_row=16, learning_rate=3e-3, loader_workers=0)
    alone, both, cut = (tmp_path / name for name in ("alone", "both", "cut"))
    expected = single("rft", {**values, "accumulate": 2}, alone)
    found = finish(start(torchrun(2), "rft", values, both), both)
    assert found["processes"]["world"] == 2
    assert files(both)["accepted.jsonl"] == files(alone)["accepted.jsonl"]
    assert answers(files(both)["samples.jsonl"]) == answers(files(alone)["samples.jsonl"])
    assert len(found["losses"]) == len(expected["losses"]) >= 3
    assert found["losses"] == pytest.approx(expected["losses"], abs=1e-5)
    assert furthest(weights(both, "adapter"), weights(alone, "adapter")) < 1e-5

    place = cut / "run" / "rft"
    samples, summary = place / "samples.jsonl", place / "summary.json"
    killed_when(
        lambda: samples.exists() and samples.read_bytes().count(b"\n") > 3, start(torchrun(2), "rft", values, cut)
    )
    batches = samples.read_bytes().count(b"\n") - 1
    assert batches < 100, "it was not killed while it sampled"
    said = killed_when(summary.exists, start(torchrun(2), "rft", values, cut))
    assert said.count(f"continuing with {4 * batches} of 400 answers sampled") == 1
    assert not (cut / "run" / "checkpoints").exists(), "it was not killed before it trained"
    sampled = files(cut)
    child = start(torchrun(2), "rft", values, cut)
    rest = finish(child, cut)
    assert files(cut) == sampled, "answers were sampled again"
    assert answers(sampled["samples.jsonl"]) == answers(files(alone)["samples.jsonl"])
    assert sampled["accepted.jsonl"] == files(both)["accepted.jsonl"]
    assert rest["losses"] == found["losses"]
    assert furthest(weights(cut, "adapter"), weights(both, "adapter")) == 0
