"""Every command of the README is run here, word for word, where its words make sense; nothing in it may rot."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from envdoctor.system import process
from tests.change.conftest import make_environment

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
LINES = [line.partition("  #")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]

MAIN = "pip install . && envdoctor preflight --fix --yes --target cpu --env ./env"
TRAIN = "envdoctor train --env ./env sft --model Qwen/Qwen2.5-0.5B --data chats.jsonl --lora_rank 16 --output ./mine"
FIT = "envdoctor fit --model Qwen/Qwen2.5-0.5B --target h100 --lora-rank 16"
TESTS = "pip install '.[test]' && pytest"
INSTALL = "pip install ."
QUICK = {
    "envdoctor": (0, 1),
    "envdoctor check --target h100 --env ./env": (0, 1, 3),
    "envdoctor check --dockerfile Dockerfile --target h100": (0, 1),
    "envdoctor fix --dry-run": (0, 3),
    "envdoctor init": (2,),  # nobody to ask
    "envdoctor undo --env ./env": (2, 3),
    "envdoctor explain precision/float32-matmul": (0,),
    "envdoctor run --env ./env -- python train.py": (0,),
    "envdoctor run --measure --stop-after 200 -- python train.py": (0, 3),
    "envdoctor diagnose report.txt": (0, 1),
    "envdoctor ci github --target h100": (0,),
}
"""Command -> exit codes that are right for it in the place that the fixture makes."""
WITH_NETWORK = {
    "envdoctor fix --target cpu --env ./env": (0,),  # the main command has made it: nothing is to be changed
    "envdoctor verify --target cpu --env ./env": (0, 1, 3),
    "envdoctor baseline record --target cpu --env ./env --output mine.toml": (0, 3),
    "envdoctor lock mine --from environment --env ./env --folder ./locks": (0,),
}
QWEN = {  # as published
    "model_type": "qwen2", "vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
    "num_attention_heads": 14, "num_key_value_heads": 2, "tie_word_embeddings": True,
}  # fmt: skip
MARKERS = ("slow", "install", "faults", "bench", "cuda")
BENCHMARKS = {
    line.partition("  #")[0].strip()
    for page in ("tests/benchmarks/README.md", "tests/speed/README.md")
    for block in re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    for line in block.splitlines()
}
"""Minutes each: only that they start, and know the options that the pages give them."""


def test_every_command_is_accounted_for() -> None:
    assert set(LINES) == {INSTALL, MAIN, TRAIN, FIT, TESTS, *QUICK, *WITH_NETWORK}


def test_the_first_minute_is_a_look_at_ones_own_environment() -> None:
    assert LINES[:2] == [INSTALL, "envdoctor"]


def test_it_is_read_in_a_few_minutes() -> None:
    assert len(README.split()) <= 1100  # tables and commands included


def test_ci_runs_the_second_one_word_for_word() -> None:
    lines = [line.strip() for line in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()]
    assert TESTS.replace("pip install", "pip install -q") in lines or TESTS in lines


def test_the_exit_codes_are_those_of_the_program() -> None:
    from envdoctor.commands.verify import EXIT

    assert set(EXIT.values()) <= {0, 1, 3}
    assert all(f"| {code} |" in README for code in (0, 1, 2, 3, 130))


def test_the_markers_exist() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(f'"{marker}: ' in text and f"{marker}`" in README for marker in MARKERS)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the README imagines it: ./env, train.py and report.txt."""
    folder = tmp_path_factory.mktemp("readme")
    make_environment(folder / "env")
    (folder / "train.py").write_text("print('trained')\n")
    (folder / "Dockerfile").write_text("FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\nRUN pip install torch==2.10.0\n")
    shutil.copyfile(ROOT / "tests" / "cases" / "b58.txt", folder / "report.txt")
    return folder


def shell(line: str, folder: Path, deadline: float) -> process.Outcome:
    program = f"{shlex.quote(sys.executable)} -m envdoctor"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "VIRTUAL_ENV": str(folder / "env")}
    words = re.sub(r"^envdoctor\b", program, line)
    return process.run(["bash", "-c", words], deadline=deadline, env=env, cwd=folder)


@pytest.mark.parametrize("line", QUICK)
def test_command(line: str, place: Path) -> None:
    outcome = shell(line, place, 60)
    assert outcome.code in QUICK[line], outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out or "--dry-run" in line or (outcome.code == 2 and outcome.err)


def test_every_word_of_the_training_line_is_an_option_of_the_trainer(place: Path) -> None:
    """Training itself has its own tests: this one would download a model."""
    outcome = shell(f"{TRAIN} --print-config", place, 60)
    assert outcome.code == 0, outcome.err
    for line in ('model: "Qwen/Qwen2.5-0.5B"', 'data: ["chats.jsonl"]', "lora_rank: 16", 'output: "./mine"'):
        assert line in outcome.out, outcome.out


def test_the_question_whether_it_fits_is_answered_of_a_folder_too(place: Path) -> None:
    """The line itself would ask a Hub for the configuration."""
    (place / "config.json").write_text(json.dumps(QWEN))
    outcome = shell(FIT.replace("Qwen/Qwen2.5-0.5B", "config.json"), place, 60)
    assert outcome.code == 0, outcome.err
    assert "494" in outcome.out


def test_an_assistants_line_starts_the_server(place: Path) -> None:
    """It ends with its standard input, which is empty here."""
    pytest.importorskip("mcp")
    (block,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    server = json.loads(block)["mcpServers"]["envdoctor"]
    outcome = shell(shlex.join([server["command"], *server["args"]]), place, 60)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


@pytest.mark.parametrize("line", sorted(BENCHMARKS))
def test_benchmark_starts(line: str) -> None:
    words = shlex.split(line)
    outcome = process.run([sys.executable, *words[1:], "--help"], deadline=60, cwd=ROOT)
    assert outcome.ok, outcome.err
    assert all(word in outcome.out for word in words if word.startswith("--"))


@pytest.mark.install
def test_the_main_command_and_those_that_need_its_environment(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    tracked = process.run(["git", "ls-files", "-z"], deadline=30, cwd=ROOT).out.split("\0")
    for name in filter(None, tracked):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, checkout / name)
    fresh = tmp_path / "fresh"
    assert process.run([sys.executable, "-m", "venv", str(fresh)], deadline=120).ok
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"PATH": f"{fresh / 'bin'}:{env['PATH']}", "VIRTUAL_ENV": str(fresh)}
    outcome = process.run(["bash", "-c", MAIN], deadline=900, env=env, cwd=checkout)
    assert outcome.code == 0, outcome.err
    assert re.search(r"As expected|faster than expected|slower than expected|Cannot tell: ", outcome.out)
    for line, codes in WITH_NETWORK.items():
        found = process.run(["bash", "-c", line], deadline=1200, env=env, cwd=checkout)
        assert found.code in codes, found.err
