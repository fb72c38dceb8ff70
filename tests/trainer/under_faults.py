"""A training that is killed again and again comes to the same weights, and leaves nothing else behind.

``python -m tests.trainer.under_faults --minutes 5 --record FILE`` runs a tiny training in processes forked from one
that has imported torch, kills each at a random moment (SIGKILL) or tells it to stop (SIGTERM), starts it again, lets
it end after some kills, and compares weights, files and temporary folders with those of a run that nobody disturbed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.trainer.conftest import TINY, chat, write_lines

STEPS, KILLS = 60, 5


def _settings(folder: Path) -> list[str]:
    from trainer.data.workloads import DATA

    folder.mkdir()
    (folder / "tiny.json").write_text(json.dumps(TINY))
    write_lines(folder / "d.jsonl", [chat(2, 3 + (7 * n) % 23, n) for n in range(24)])
    values = {
        "model_config": folder / "tiny.json", "tokenizer": DATA / "tokenizer", "data": folder / "d.jsonl",
        "output": folder / "run", "cache": folder / "cache", "tokens_per_row": 128, "threads": 1, "device": "cpu",
        "precision": "float32", "max_steps": STEPS, "epochs": 100, "checkpoint_every": 2, "log_every": 2,
    }  # fmt: skip
    return ["sft", *(word for name, value in values.items() for word in ("--" + name, str(value)))]


def _started(words: list[str], said: Path) -> int:
    process = os.fork()
    if process == 0:
        code = 70
        try:
            output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(output, 1)
            os.dup2(output, 2)
            from trainer.__main__ import main

            code = main(words)
        finally:
            os._exit(code)
    return process


def _files(folder: Path) -> dict[str, str]:
    """Every file of a run with its sha256, where the same run has the same; others by name alone."""
    same = (".safetensors", "config.json", "tokenizer.json")
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            sound = path.name.endswith(same) and "checkpoints" not in path.parts
            found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest() if sound else ""
    return found


def trial(base: Path, number: int, kills: int, chance: random.Random, told: Counter[str]) -> dict[str, str]:
    """One training to its end, under so many faults; the files it has left."""
    folder = base / str(number)
    words, said = _settings(folder), base / f"{number}.txt"
    for attempt in range(kills + 1):
        process = _started(words, said)
        if attempt < kills:
            time.sleep(chance.uniform(0, 3))
            how = chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
            os.kill(process, how)
            told[how.name] += 1
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if attempt == kills and code != 0:
            told[f"bad: it ended with {code}: {said.read_text()[-300:]}"] += 1
        if "Traceback" in said.read_text():
            told["bad: traceback"] += 1
    return _files(folder / "run")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--record", type=Path)
    given = parser.parse_args()
    import trainer.run  # noqa: F401 - imported once, for all that are forked

    told: Counter[str] = Counter()
    began, trials, chance = time.monotonic(), 0, random.Random(1)
    with tempfile.TemporaryDirectory(prefix="under-faults-") as name:
        base = Path(name)
        (temporary := base / "tmp").mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
        shared = set(os.listdir("/dev/shm"))
        expected = trial(base, 0, 0, chance, told)
        usual = set(os.listdir(temporary))  # torch's own cache is one folder, for all runs
        while time.monotonic() - began < 60 * given.minutes:
            trials += 1
            found = trial(base, trials, KILLS, chance, told)
            other = sorted(key for key in {*found, *expected} if found.get(key) != expected.get(key))
            told[f"bad: other files: {other[:5]}"] += bool(other)
        for left in set(os.listdir(temporary)) - usual:
            told[f"bad: temporary, {left}"] += 1
        told["bad: shared memory left"] += len(set(os.listdir("/dev/shm")) - shared)
    bad = sum(count for key, count in told.items() if key.startswith("bad"))
    counts = {key: count for key, count in sorted(told.items()) if count}
    seconds = round(time.monotonic() - began, 1)
    line = json.dumps({"series": "training", "trials": trials, "bad": bad, "counts": counts, "seconds": seconds})
    print(line)
    if given.record is not None:
        with given.record.open("a", encoding="utf-8") as record:
            print(line, file=record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
