"""Two gloo processes are one process: losses and weights, under DDP and FSDP2, started the way users start them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.trainer.conftest import TINY, chat, write_lines
from tests.trainer.data.test_shards import shards_of
from tests.trainer.launching import (
    ROOT,
    accelerate_launch,
    environment,
    finish,
    free_port,
    furthest,
    single,
    start,
    torchrun,
    weights,
)
from tests.trainer.test_gritlm import pair

pytestmark = pytest.mark.slow


def values_in(folder: Path) -> dict:
    """The settings of the fixture `tiny`, for a whole module."""
    from trainer.data.workloads import DATA

    config = folder / "tiny.json"
    config.write_text(json.dumps(TINY), encoding="utf-8")
    rows = [chat(2, 3 + (7 * n) % 23, n) for n in range(24)]
    return {
        "model_config": str(config), "tokenizer": str(DATA / "tokenizer"), "cache": str(folder / "cache"),
        "data": [str(write_lines(folder / "d.jsonl", rows))], "tokens_per_row": 128, "threads": 1, "device": "cpu",
        "precision": "float32", "log_every": 2, "warmup_steps": 2, "learning_rate": 3e-3, "epochs": 2,
    }  # fmt: skip


def cases(folder: Path) -> dict:
    """name -> (task, settings of each of two processes, settings of one process that does the same steps)."""
    common = values_in(folder)
    rows = [pair(n) for n in range(19)] + [chat(2, 5 + n, n) for n in range(3)]
    pairs = {**common, "data": [str(write_lines(folder / "pairs.jsonl", rows))], "temperature": 0.1, "epochs": 1}
    shards = shards_of(common, folder / "shards", shard_tokens=250)
    rows_of = {**common, "data": [str(shards)], "tokens_per_row": 32, "examples_per_batch": 2, "epochs": 1}
    plain = {**common, "packing": False, "attention": "model", "examples_per_batch": 3}
    return {
        "sft": ("sft", {**common, "accumulate": 2}, {**common, "accumulate": 4}),
        "padded": ("sft", plain, {**plain, "accumulate": 2}),
        "lora": ("sft", {**common, "lora_rank": 4}, {**common, "lora_rank": 4, "accumulate": 2}),
        "pretrain": ("pretrain", {**rows_of, "accumulate": 2}, {**rows_of, "accumulate": 4}),
        "gritlm": ("gritlm", {**pairs, "pairs_per_batch": 2}, {**pairs, "pairs_per_batch": 4}),
        "gradcache": (
            "gritlm", {**pairs, "pairs_per_batch": 2, "gradcache_chunk": 40}, {**pairs, "pairs_per_batch": 4},
        ),
    }  # fmt: skip


NAMES = ("sft", "padded", "lora", "pretrain", "gritlm", "gradcache")
RUNS = [(name, kind) for kind in ("ddp", "fsdp2") for name in NAMES if (name, kind) != ("gradcache", "fsdp2")]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every case once in one pair of processes, and once in this process."""
    folder = tmp_path_factory.mktemp("both")
    all_cases, commands = cases(folder), []
    for name, kind in RUNS:
        task, each, _ = all_cases[name]
        here = folder / f"{name}-{kind}"
        here.mkdir()
        (here / "settings.json").write_text(json.dumps({**each, "parallel": kind, "output": str(here / "run")}))
        commands.append(
            [free_port(), [task, "--config", str(here / "settings.json"), "--report", str(here / "report.json")]]
        )
    (folder / "list.json").write_text(json.dumps(commands))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port"]
    module = ["-m", "tests.trainer.several_runs", str(folder / "list.json")]
    done = subprocess.run(
        [*launcher, str(free_port()), *module], cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=900
    )
    (folder / "said").write_text(done.stdout + done.stderr)
    for name in NAMES:
        task, _, alone = all_cases[name]
        single(task, alone, folder / name)
    return folder


@pytest.mark.parametrize(("name", "kind"), RUNS)
def test_two_processes_are_one(both: Path, name: str, kind: str) -> None:
    there, here = both / f"{name}-{kind}", both / name
    assert (there / "report.json").exists(), (both / "said").read_text()[-4000:]
    found, expected = (json.loads((folder / "report.json").read_text()) for folder in (there, here))
    assert found["error"] is None
    assert found["processes"] == {"rank": 0, "world": 2, "kind": kind}
    assert len(found["losses"]) == len(expected["losses"]) >= 3
    assert found["losses"] == pytest.approx(expected["losses"], abs=1e-5)
    assert found["grad_norms"] == pytest.approx(expected["grad_norms"], rel=1e-4)
    saved = "adapter" if name == "lora" else "model"
    assert furthest(weights(there, saved), weights(here, saved)) < 1e-5
    for count in ("trained", "real"):
        assert found["tokens_per_step"][count] == pytest.approx(expected["tokens_per_step"][count])


def test_torchrun_and_accelerate_launch_start_it(tmp_path: Path) -> None:
    """Both launchers; the second takes FSDP2 from accelerate's own configuration file."""
    values = {**values_in(tmp_path), "epochs": 1}
    config = tmp_path / "fsdp2.yaml"
    config.write_text(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 2\nnum_machines: 1\n"
        "machine_rank: 0\nuse_cpu: true\nmixed_precision: 'no'\nfsdp_config:\n  fsdp_version: 2\n"
        "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_reshard_after_forward: true\n"
    )
    first = finish(start(torchrun(2), "sft", values, tmp_path / "torchrun"), tmp_path / "torchrun")
    second = finish(start(accelerate_launch(config), "sft", values, tmp_path / "launch"), tmp_path / "launch")
    assert (first["processes"]["kind"], second["processes"]["kind"]) == ("ddp", "fsdp2")
    assert first["losses"] == pytest.approx(second["losses"], abs=1e-5)
    assert furthest(weights(tmp_path / "torchrun"), weights(tmp_path / "launch")) < 1e-5
    parallel = next(choice for choice in second["choices"] if choice["what"] == "parallel")
    assert parallel["value"] == "fsdp2 x 2"


def workers_of(launcher: subprocess.Popen) -> list[int]:
    """The processes that train, by their parent."""
    found = subprocess.run(["pgrep", "-P", str(launcher.pid), "-f", "trainer"], capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


def test_a_signal_to_one_process_saves_on_all_and_the_same_number_goes_on(tmp_path: Path) -> None:
    values = {**values_in(tmp_path), "epochs": 30, "log_every": 1, "loader_workers": 0, "lora_rank": 4}
    values = {**values, "lora_dropout": 0.2}
    whole = finish(start(torchrun(2), "sft", values, tmp_path / "whole"), tmp_path / "whole")
    child = start(torchrun(2), "sft", values, tmp_path / "cut")
    metrics, deadline = tmp_path / "cut" / "run" / "metrics.jsonl", time.monotonic() + 150
    while time.monotonic() < deadline and not (metrics.exists() and metrics.read_text().count("\n") > 3):
        time.sleep(0.02)
    os.kill(max(workers_of(child)), signal.SIGTERM)  # the younger one: rank 1
    child.communicate(timeout=170)
    report = json.loads((tmp_path / "cut" / "report.json").read_text())
    assert report["outcome"] == "interrupted"
    assert 3 < report["steps"] < whole["steps"]
    (folder,) = (tmp_path / "cut" / "run" / "checkpoints").iterdir()
    assert folder.name == f"step-{report['steps']:08d}"
    alone = start([sys.executable, "-m", "trainer"], "sft", values, tmp_path / "cut")
    assert "written by 2 processes, but this run has 1" in alone.communicate(timeout=170)[1]
    assert alone.returncode == 1
    rest = finish(start(torchrun(2), "sft", values, tmp_path / "cut"), tmp_path / "cut")
    assert report["losses"] + rest["losses"] == whole["losses"]
    assert furthest(weights(tmp_path / "cut", "adapter"), weights(tmp_path / "whole", "adapter")) == 0


def test_a_mistake_in_the_data_is_told_once(tmp_path: Path) -> None:
    values = values_in(tmp_path)
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps(chat(2, 5)) + "\n{\n")
    child = start(torchrun(2), "sft", {**values, "data": [str(bad)]}, tmp_path / "run")
    _, err = child.communicate(timeout=170)
    assert child.returncode != 0
    assert err.count("line 2: not JSON") == 1
    assert json.loads((tmp_path / "run" / "report.json").read_text())["error"]["kind"] == "broken-line"
