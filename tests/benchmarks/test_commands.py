"""The benchmark commands themselves, on a toy model; nothing here looks at how fast anything is."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks import overhead, peerenv, profiling, seeds
from tests.benchmarks.seedtable import COMPILE, RFT, SEEDS, Seed
from tests.benchmarks.turns import ROOT


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.number)
def test_seeds_table_measures_every_step(seed: Seed, tiny: dict, tmp_path: Path) -> None:
    given = argparse.Namespace(
        workload="chat-5m",
        rounds=1,
        repeats=2,
        seconds=0.01,
        threads=1,
        compile=False,
        model_config=tiny["model_config"],
    )
    found = seeds.measured(seed, given, tmp_path / "s")
    assert [step["name"] for step in found["steps"]] == [step.name for step in seed.steps if step is not COMPILE]
    assert {"before", "after", seeds.AGAIN} <= set(found["raw"][0])
    assert all(len(side["slices"]) == 2 for group in found["raw"] for side in group.values())
    assert found["nothing"]["wall"][0] > 0
    assert found["ratio"]["wall"][0] > 0
    assert ("sampling" in found) == (seed is RFT)
    assert seed.title in seeds.text(found)


@pytest.mark.slow
def test_overhead_times_the_same_rows_twice_and_gives_all_of_the_time_to_a_part(tiny: dict) -> None:
    found = overhead.measured({"task": "sft", "settings": tiny}, blocks=2, steps=2)
    assert len(found["blocks"]) == 2
    for pair in found["blocks"]:
        assert pair["bare"] > 0
        assert sum(pair["parts"].values()) == pytest.approx(pair["product"], rel=0.01, abs=1e-3)
        assert all(pair["parts"][part] > 0 for part in (*overhead.ASKED, *overhead.OWN))
    assert 0 < found["own"][1] < 1
    assert "toy" in overhead.table({"workloads": {"toy": found}})


@pytest.mark.slow
def test_profiles_name_operators_and_functions(tiny: dict) -> None:
    assert "aten::mm" in profiling.table({"task": "sft", "settings": tiny}, 1, 20)
    assert "loop.py" in profiling.table({"task": "sft", "settings": tiny}, 1, 60, python=True)


def test_an_interpreter_without_the_peers_is_not_taken_for_theirs(tmp_path: Path) -> None:
    assert peerenv.versions(str(tmp_path / "bin" / "python")) == {}


@pytest.mark.install
def test_peers_command_installs_measures_and_agrees(tmp_path: Path) -> None:
    target = tmp_path / "peers.json"
    command = [sys.executable, "-m", "tests.benchmarks.peers", "--sizes", "toy", "--pairs-size", "toy", "--quick",
               "--threads", "1", "--venv", str(tmp_path / "venv"), "--output", str(target)]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1500, check=False)
    assert done.returncode == 0, done.stderr
    assert "NOT EQUAL" not in done.stdout
    found = json.loads(target.read_text("utf-8"))
    assert set(found["sizes"]["toy"]["speeds"]) == {"ours", "HF defaults", "TRL packed"}
    assert len(found["sizes"]["toy"]["same_batches"]["ours"]) == 6
