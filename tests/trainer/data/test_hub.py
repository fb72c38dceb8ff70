"""Models and data by name, from a Hub on loopback, through the real huggingface_hub and datasets in child processes.

The endpoint is read at import, so each case is a process; several cases share one.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import trainer
from tests.trainer.conftest import TINY, chat, write_lines
from tests.trainer.loopbackhub import Hub, commit_of, serving
from trainer.data.workloads import DATA

ROOT = Path(trainer.__file__).parent.parent

RUN = """
import json, sys
from trainer.__main__ import main
for line in json.loads(sys.argv[1]):
    print("CODE", main(line), flush=True)
    print("=====", file=sys.stderr, flush=True)
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    root = tmp_path_factory.mktemp("hub")
    tiny = root / "models" / "lab" / "tiny-chat"
    make_model(tiny)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tiny / name).write_bytes((DATA / "tokenizer" / name).read_bytes())
    for extra in (DATA / "tokenizer").iterdir():
        if extra.is_file() and not (tiny / extra.name).exists():
            (tiny / extra.name).write_bytes(extra.read_bytes())
    (tiny / "pytorch_model.bin").write_bytes(b"a pickle nobody should fetch")
    torn = root / "models" / "lab" / "torn"
    torn.mkdir(parents=True)
    (torn / "config.json").write_text(json.dumps(TINY))
    (torn / "pytorch_model.bin").write_bytes(b"x")
    chats = root / "datasets" / "lab" / "chats"
    chats.mkdir(parents=True)
    write_lines(chats / "train.jsonl", [chat(2, 3 + n % 9, n) for n in range(12)])
    write_lines(chats / "test.jsonl", [chat(2, 4, n) for n in range(3)])
    with serving(root) as served:
        yield served


def make_model(folder: Path) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    values = dict(TINY)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(values.pop("model_type"), **values))
    model.save_pretrained(folder)


def runs(hub: Hub, home: Path, *lines: list[str], **more: str) -> list[tuple[int, str]]:
    """(exit code, stderr) of each command line, in one process that knows this Hub alone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    env = {**kept, "HF_ENDPOINT": hub.url, "HF_HOME": str(home), "PYTHONPATH": str(ROOT), "HF_HUB_DISABLE_XET": "1",
           "XDG_CACHE_HOME": str(home / "cache"), **more}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(lines)], cwd=home, env=env, capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    codes = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("CODE")]
    assert len(codes) == len(lines), done.stderr[-3000:]
    return list(zip(codes, done.stderr.split("=====\n"), strict=False))


SHORT = ["--max_steps", "2", "--tokens_per_row", "128", "--device", "cpu", "--threads", "1"]


@pytest.mark.slow
def test_a_model_and_a_data_set_by_name_and_offline_afterwards(hub: Hub, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    line = ["sft", "--model", "lab/tiny-chat", "--data", "lab/chats", "--eval_data", "lab/chats@test[:2]", *SHORT,
            "--output", str(home / "run"), "--report", str(home / "report.json")]  # fmt: skip
    ((code, said),) = runs(hub, home, line)
    assert code == 0, said
    report = json.loads((home / "report.json").read_text())
    commit = commit_of(hub.root / "models" / "lab" / "tiny-chat")
    assert report["hub"]["model"] == {"name": "lab/tiny-chat", "revision": commit}
    assert report["hub"]["data"] == [
        {"name": "lab/chats", "revision": commit_of(hub.root / "datasets" / "lab" / "chats")}
    ]
    assert (report["data"]["examples"], report["data"]["eval_examples"]) == (12, 2)
    assert report["settings"]["learning_rate"] == 2e-5
    assert not any("pytorch_model.bin" in asked for asked in hub.asked if "resolve" in asked)
    before = len(hub.asked)
    again = [*line[:-4], "--output", str(home / "offline"), "--revision", "main"]
    missing = ["sft", "--model", "lab/other", "--data", "lab/chats", *SHORT]
    (code, said), (refused, why) = runs(hub, home, again, missing, HF_HUB_OFFLINE="1")
    assert code == 0, said
    assert len(hub.asked) == before, "offline asks nobody"
    assert refused == 1
    assert "hf download lab/other" in why
    assert "Error" not in why, "what the library says of its cache"


@pytest.mark.slow
def test_what_stands_against_a_name_is_one_clear_message(hub: Hub, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    data = ["--data", "lab/chats", *SHORT]
    cases = [
        (["--model", "lab/tiny-chta", *data], ["Did you mean lab/tiny-chat?", "no model of this name"]),
        (["--model", "gated/model", *data], ["gated/model is gated", "hf auth login"]),
        (["--model", "lab/tiny-chat", "--revision", "v9", *data], ["has no revision v9"]),
        (["--model", "lab/torn", *data], ["no weights in safetensors"]),
        (["--model", "lab/tiny-chat", "--data", "lab/chat", *SHORT], ["no data set of this name", "lab/chats?"]),
        (["--model", "lab/tiny-chat", "--data", "lab/chats@validation", *SHORT], ["lab/chats:", "train"]),
        (["--model", "./nowhere", *data], ["./nowhere: no such folder"]),
    ]
    found = runs(hub, home, *[["sft", *line] for line, _ in cases])
    for (code, said), (line, words) in zip(found, cases, strict=True):
        assert code == 1, line
        assert "Traceback" not in said
        errors = said[said.index("error: ") :]
        assert len(errors.strip().splitlines()) == 2, errors
        for word in words:
            assert word in errors, (line, errors)


@pytest.mark.slow
def test_a_download_that_ends_in_the_middle_is_told_and_finished_later(hub: Hub, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    line = ["sft", "--model", "lab/tiny-chat", "--data", "lab/chats", *SHORT]
    hub.broken = "model.safetensors"
    try:
        ((code, said),) = runs(hub, home, line)
    finally:
        hub.broken = ""
    assert code == 1
    assert "Traceback" not in said
    assert "hf download lab/tiny-chat" in said
    ((code, said),) = runs(hub, home, line)
    assert code == 0, said


@pytest.mark.slow
def test_a_hub_that_says_nothing_is_asked_once_for_a_model_and_for_data(tmp_path: Path) -> None:
    make_model(tmp_path / "model")
    silent = Hub(tmp_path)
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        silent.url = f"http://127.0.0.1:{server.getsockname()[1]}"
        lines = [["--model", "lab/tiny-chat", "--data", "chats.jsonl"], ["--model", "model", "--data", "lab/chats"]]
        (tmp_path / "chats.jsonl").write_text('{"prompt": "a", "completion": "b"}\n')
        found = runs(silent, tmp_path, *[["sft", *line, *SHORT] for line in lines])
        server.settimeout(0.1)
        calls = 0
        with contextlib.suppress(TimeoutError):
            while True:
                server.accept()[0].close()
                calls += 1
    for (code, said), name in zip(found, ("lab/tiny-chat", "lab/chats"), strict=True):
        assert code == 1
        assert f"{name} is not here, and the Hub does not answer" in said
        assert f"hf download {'--repo-type dataset ' if 'chats' in name else ''}{name}" in said
    assert calls <= 4, "one attempt each (and what the library asks by itself): its own attempts go on for minutes"


@pytest.mark.slow
def test_a_hub_that_is_not_there(hub: Hub, tmp_path: Path) -> None:
    away = Hub(tmp_path)
    away.url = "http://127.0.0.1:9"
    ((code, said),) = runs(away, tmp_path, ["sft", "--model", "lab/tiny-chat", "--data", "lab/chats", *SHORT])
    assert code == 1
    assert "hf download lab/tiny-chat" in said
