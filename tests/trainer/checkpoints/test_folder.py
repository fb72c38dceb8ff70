"""A folder holds one run: what is refused, what goes on, and what has nothing left to do."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trainer.conftest import chat, write_lines
from trainer.__main__ import main
from trainer.checkpoints import folder as run_folder
from trainer.errors import TrainerError, disk_remedy
from trainer.options.settings import from_mapping


def command(tmp_path: Path, values: dict, **more: object) -> list[str]:
    config = tmp_path / "settings.json"
    config.write_text(json.dumps({**values, **more}))
    return ["sft", "--config", str(config), "--report", str(tmp_path / "report.json")]


def test_a_finished_run_is_not_handed_out_as_another(tiny: dict, tmp_path: Path, capsys) -> None:
    assert main(command(tmp_path, tiny)) == 0
    first = json.loads((tmp_path / "report.json").read_text())
    capsys.readouterr()
    assert main(command(tmp_path, tiny)) == 0
    assert f"already finished (step {first['steps']} of {first['steps']}): nothing to do" in capsys.readouterr().err
    assert main(command(tmp_path, tiny, learning_rate=1e-4, seed=3)) == 1
    said = capsys.readouterr().err
    assert f"{tiny['output']} holds a finished run with learning_rate=auto, now 0.0001; seed=0, now 3" in said or (
        "seed=0, now 3; learning_rate=auto, now 0.0001" in said
    )
    assert "--output" in said
    assert "--resume never" in said
    assert main(command(tmp_path, tiny, log_every=1, keep_checkpoints=3)) == 0  # these change nothing
    assert main(command(tmp_path, tiny, seed=3, resume="never")) == 0
    other = json.loads((tmp_path / "report.json").read_text())
    assert other["losses"] != first["losses"]
    assert {path.name for path in (tmp_path / "run").glob("*.before-1*")} >= {
        "model.before-1",
        "metrics.before-1.jsonl",
    }
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert rows[0]["step"] == 1
    assert rows[-1]["loss"] == other["losses"][-1] == other["last_loss"]


def test_another_model_of_the_same_name_is_another_run(tiny: dict, tmp_path: Path, capsys) -> None:
    assert main(command(tmp_path, tiny)) == 0
    config = Path(tiny["model_config"])
    config.write_text(config.read_text().replace('"intermediate_size": 48', '"intermediate_size": 64'))
    assert main(command(tmp_path, tiny)) == 1
    assert "on another model" in capsys.readouterr().err
    assert main(command(tmp_path, tiny, model_config=str(config), resume="never")) == 0
    write_lines(Path(tiny["data"][0]), [chat(2, 9)])
    assert main(command(tmp_path, tiny)) == 1
    assert "on other data" in capsys.readouterr().err


def test_with_a_constant_rate_a_longer_run_goes_on(tiny: dict, tmp_path: Path) -> None:
    assert main(command(tmp_path, tiny, schedule="constant")) == 0
    first = json.loads((tmp_path / "report.json").read_text())
    assert main(command(tmp_path, tiny, schedule="constant", epochs=2)) == 0
    both = json.loads((tmp_path / "report.json").read_text())
    assert both["steps"] > first["steps"]
    assert both["first_loss"] == first["losses"][0]
    rows = [json.loads(line)["step"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert rows == sorted(set(rows))


def test_two_runs_do_not_write_into_one_folder(tiny: dict, tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", "import sys, time; from pathlib import Path; from trainer.checkpoints import folder\n"
         "with folder.claim_folder(Path(sys.argv[1]), print):\n print('held', flush=True); time.sleep(60)",
         tiny["output"]], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TrainerError) as caught, run_folder.claim_folder(Path(tiny["output"]), print):
            pass
        assert f"another run (process {holder.pid}) writes here" in caught.value.message
    finally:
        holder.kill()
        holder.communicate()
    with run_folder.claim_folder(Path(tiny["output"]), print):
        pass  # a killed run holds nothing
    assert not Path(tiny["output"]).exists(), "a run that wrote nothing leaves nothing"


def test_the_run_before_is_not_named_for_the_one_that_holds_the_folder(tmp_path: Path) -> None:
    """Between taking the lock and signing it: the file names the run before still."""
    (tmp_path / run_folder.LOCK).write_text("1")
    program = "import fcntl, sys, time; file = open(sys.argv[1]); fcntl.flock(file, 2); print('held', flush=True)\n"
    words = [sys.executable, "-c", program + "time.sleep(60)", str(tmp_path / run_folder.LOCK)]
    holder = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TrainerError) as caught, run_folder.claim_folder(tmp_path, print):
            pass
        assert f"another run (process {holder.pid}) writes here" in caught.value.message
    finally:
        holder.kill()
        holder.communicate()


def test_a_folder_that_is_not_named_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = run_folder.run_folder(from_mapping({}, "here"), "sft")
    Path(first).mkdir(parents=True)
    second = run_folder.run_folder(from_mapping({}, "here"), "sft")
    assert first.startswith("runs/sft-20")
    assert (first[-2:], second[-2:]) == ("-1", "-2")


def test_only_a_full_disk_asks_for_space() -> None:
    assert "Free some space" in disk_remedy(OSError(errno.ENOSPC, "No space left on device"))
    for number in (errno.EACCES, errno.ENOENT, errno.EIO):
        assert "space" not in disk_remedy(OSError(number, os.strerror(number)))
