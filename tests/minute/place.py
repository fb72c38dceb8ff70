"""A folder to type in, as a newcomer would have it: the program on PATH, an old environment with a lock for it, the
environment of the tests (with torch) under a name of its own, a model of a few thousand weights and some chats."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import venv
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from envdoctor.system import process
from tests.change.conftest import make_world, write_target
from tests.trainer.conftest import TINY, chat, write_lines

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tests" / "speed" / "measured_run" / "scripts"
CHECKOUT = ("envdoctor", "trainer", "lockfiles")

# The program of this checkout, by its own name.
MAIN = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv[0] = 'envdoctor'; import envdoctor.__main__ as m"
NEEDED = "click markdown_it mdurl packaging pygments pynvml rich tomli_w uv yaml".split()

# A training of some hundredths of a second, in steps that a loader's worker would only slow down.
SHORT = """
import torch
rows = [(torch.randn(8), torch.randn(1)) for _ in range(400)]
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for x, y in torch.utils.data.DataLoader(rows, batch_size=4):
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
"""

# Types an answer on a terminal of 80 columns once the question stands there, some seconds later.
TYPIST = """
import os, pty, sys, time
answer, seconds, *argv = sys.argv[1:]
os.environ["COLUMNS"] = "80"
said = b""
def read(descriptor):
    global said
    told = os.read(descriptor, 65536)
    if b"?" in said + told and b"[y/N]" in said + told and b"[y/N]" not in said:
        time.sleep(float(seconds))
        os.write(descriptor, answer.encode() + b"\\n")
    said += told
    return told
raise SystemExit(os.waitstatus_to_exitcode(pty.spawn(argv, read)))
"""


class Said(NamedTuple):
    """What a shell said: both streams as they came, without what belongs to this machine, and the exit code."""

    text: str
    code: int


class Place:
    """Where the lines are typed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "here"
        self.folder.mkdir(parents=True)
        self._programs = folder / "bin"
        self._programs.mkdir()
        world = make_world(folder / "world", "old")
        world.environment.rename(self.folder / "old")
        self.goal = write_target(world, folder / "goal")
        (self.folder / "locks").symlink_to(self.goal.parent.parent)
        (self.folder / "env").symlink_to(sys.prefix)
        (self.folder / "model.json").write_text(json.dumps(TINY), encoding="utf-8")
        rows = [chat(2, 3 + (7 * n) % 23, n) for n in range(48)]
        write_lines(self.folder / "chats.jsonl", rows)
        (self.folder / "tokenizer").symlink_to(ROOT / "trainer" / "data" / "bundled" / "tokenizer")
        shutil.copy2(SCRIPTS / "padded.py", self.folder)
        (self.folder / "short.py").write_text(SHORT)
        (self.folder / "train.sh").write_text("true\n")
        self._program("envdoctor", f'exec "{sys.executable}" -c "{MAIN}; m.main()" "$@"')
        (folder / "typist.py").write_text(TYPIST)
        self._program("typing", f'exec "{sys.executable}" "{folder / "typist.py"}" "$@"')

    def _program(self, name: str, line: str) -> None:
        path = self._programs / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    def checkout(self) -> None:
        """The checkout as a clone has it, ./clone, and an environment with nothing but the doctor, ./tool."""
        tool, clone = self.folder / "tool", self.folder / "clone"
        venv.create(tool, with_pip=False, symlinks=True)
        site = next((tool / "lib").glob("python3*")) / "site-packages"
        for name in NEEDED:
            found = find_spec(name)
            assert found is not None, name
            assert found.origin is not None, name
            place = Path(found.origin)
            place = place.parent if place.name == "__init__.py" else place
            (site / place.name).symlink_to(place)
        shutil.copy2(self._programs / "envdoctor", tool / "bin")
        text = (tool / "bin" / "envdoctor").read_text().replace(sys.executable, str(tool / "bin" / "python"))
        (tool / "bin" / "envdoctor").write_text(text)
        clone.mkdir()
        for name in CHECKOUT:
            shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md"):
            shutil.copy2(ROOT / name, clone)

    def type(self, line: str) -> Said:
        """What this line of a shell says here."""
        home = self.folder.parent / "home"
        home.mkdir(exist_ok=True)
        variables = {
            "PATH": f"{self._programs}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "COLUMNS": "100",
            "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_CACHE_HOME": str(home / "cache"),
            "HF_HOME": str(home / "hub"), "PIP_CONFIG_FILE": os.devnull, "UV_OFFLINE": "1", "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        outcome = process.run(["bash", "-c", f"exec 2>&1; {line}"], deadline=280, cwd=self.folder, env=variables)
        return Said(self._anywhere(outcome.out), outcome.code if outcome.code is not None else -1)

    def _anywhere(self, text: str) -> str:
        """Without colours, redrawn lines and the paths of this machine."""
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")
        text = re.sub(r"[^\n]*\r", "", text)
        for path, name in (
            (self.folder, "."),
            (self.folder.parent, ".."),
            (Path(sys.prefix), "./env"),
            (ROOT, "CLONE"),
        ):
            text = re.sub(rf"(?<![\w.]){re.escape(str(path))}", name, text)
        return text
