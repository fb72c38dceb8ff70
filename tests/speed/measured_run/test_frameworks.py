"""Scripts in the manner of the libraries' own documentation, unchanged, under a stopwatch outside.

They need TRL and Lightning, which the tests' own environment has not: ENVDOCTOR_FRAMEWORKS names an environment that
has them, else one is installed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from envdoctor.system import process
from tests.speed.measured_run.stopwatch import timed

pytestmark = pytest.mark.install
PACKAGES = ("torch==2.13.0", "transformers", "accelerate", "datasets", "peft", "trl", "lightning")
PIPES = 0.05
"""Seconds that a line may take through a pipe to a reader that waits for a core."""

ACCELERATE = (
    "accelerate",
    "launch",
    "--cpu",
    "--num_machines",
    "1",
    "--mixed_precision",
    "no",
    "--dynamo_backend",
    "no",
)
TORCHRUN = ("torchrun", "--standalone", "--nproc-per-node", "2")
CASES = {
    "bare loop": ("python", "bare_loop.py"),
    "transformers Trainer": ("python", "transformers_trainer.py", "OUTPUT"),
    "TRL SFTTrainer": ("python", "trl_sft.py", "OUTPUT"),
    "Lightning": ("python", "lightning_module.py", "OUTPUT"),
    "accelerate launch": (*ACCELERATE, "--num_processes", "1", "accelerate_loop.py"),
    "accelerate on two ranks": (*TORCHRUN, "accelerate_loop.py"),
    "torchrun": (*TORCHRUN, "ddp_loop.py"),
    "spawned loader workers": ("python", "spawned_loader.py"),
}
DRIVERS = {"transformers Trainer": "TrainingArguments", "TRL SFTTrainer": "SFTConfig"}


@pytest.fixture(scope="session")
def frameworks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("ENVDOCTOR_FRAMEWORKS")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("frameworks") / "env"
    for argv in ((sys.executable, "-m", "venv", folder), (folder / "bin" / "pip", "install", "-q", *PACKAGES)):
        outcome = process.run(argv, deadline=900)
        assert outcome.ok, outcome.err
    return folder


def command(name: str, folder: Path) -> tuple[str, ...]:
    return tuple(str(folder / "out") if word == "OUTPUT" else word for word in CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_steps_per_second_are_those_of_a_stopwatch_outside(name: str, frameworks: Path, tmp_path: Path) -> None:
    run = timed(tmp_path, frameworks, *command(name, tmp_path))
    assert run.code == 0, run.said
    first, last = run.rank["timed_steps"]
    outside, inside = run.steps[last] - run.steps[first], run.rank["timed_seconds"]
    assert inside == pytest.approx(outside, abs=max(0.01 * outside, PIPES))
    assert run.rank["steps"] == max(run.steps)
    assert sum(run.found["breakdown"].values()) == pytest.approx(1.0, abs=0.02)
    ranks = [row["rank"] for row in run.found["conditions"]["ranks"]]
    assert ranks == ([0, 1] if CASES[name][0] == "torchrun" else [None])
    assert run.found["verdict"] == "not-comparable"
    assert "ran with torch 2.13.0" in run.said


@pytest.mark.parametrize("name", CASES)
def test_a_run_ends_cleanly_after_the_steps_asked_for(name: str, frameworks: Path, tmp_path: Path) -> None:
    run = timed(tmp_path, frameworks, *command(name, tmp_path), options=("--stop-after", "40"))
    assert run.code == 0, run.said
    assert "Traceback" not in run.said
    assert {row["steps"] for row in run.found["conditions"]["ranks"]} == {40}
    assert {row["ended"] for row in run.found["conditions"]["ranks"]} == {"stopped"}
    assert max(run.steps) == 39  # the script's own line for the fortieth is not reached


@pytest.mark.parametrize("name", DRIVERS)
def test_advice_is_written_in_the_words_of_the_library(name: str, frameworks: Path, tmp_path: Path) -> None:
    run = timed(tmp_path, frameworks, *command(name, tmp_path), options=("--stop-after", "30"))
    lines = [line for one in run.found["conditions"]["advice"] for line in one["lines"]]
    assert not any(line.startswith("DataLoader(") for line in lines)
    assert all(DRIVERS[name] in line or "OMP_NUM_THREADS" in line for line in lines)
