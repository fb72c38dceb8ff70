"""Real runs of several processes: torchrun or accelerate launch around `python -m trainer`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

import trainer

ROOT = Path(trainer.__file__).parent.parent


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def environment(**more: str) -> dict:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RANK", "WORLD_SIZE", "LOCAL_"))}
    return {**kept, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **more}


def torchrun(processes: int) -> list[str]:
    module = ["-m", "torch.distributed.run", "--nproc-per-node", str(processes), "--master-port", str(free_port())]
    return [sys.executable, *module, "-m", "trainer"]


def accelerate_launch(config: Path) -> list[str]:
    command = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(config)]
    return [*command, "--main_process_port", str(free_port()), "-m", "trainer"]


def start(launcher: list[str], task: str, values: dict, folder: Path) -> subprocess.Popen:
    """A run of `task` with the settings `values` and its report at folder/report.json."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "settings.json"
    config.write_text(json.dumps({**values, "output": str(folder / "run")}))
    return subprocess.Popen(
        [*launcher, task, "--config", str(config), "--report", str(folder / "report.json")], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip


def finish(child: subprocess.Popen, folder: Path, code: int = 0) -> dict:
    try:
        out, err = child.communicate(timeout=170)
    except subprocess.TimeoutExpired:
        child.terminate()  # torchrun ends its processes with itself
        raise
    assert child.returncode == code, err[-3000:] + out
    return json.loads((folder / "report.json").read_text())


def weights(folder: Path, kind: str = "model") -> dict:
    return load_file(folder / "run" / kind / ("model.safetensors" if kind == "model" else "adapter_model.safetensors"))


def furthest(left: dict, right: dict) -> float:
    assert left.keys() == right.keys()
    return max(float((left[name].float() - right[name].float()).abs().max()) for name in left)


def single(task: str, values: dict, folder: Path) -> dict:
    """The same in one process, this one."""
    from trainer.__main__ import main

    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "settings.json"
    config.write_text(json.dumps({**values, "output": str(folder / "run")}))
    threads = torch.get_num_threads()
    try:
        assert main([task, "--config", str(config), "--report", str(folder / "report.json")]) == 0
    finally:
        torch.set_num_threads(threads)
    return json.loads((folder / "report.json").read_text())
