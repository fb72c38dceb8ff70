"""Hardships of what lies in an environment, and of files that are given to us."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

from tests.change.bench import SECONDS, Attack, Bench, adder
from tests.change.conftest import snapshot

ATTACKS: dict[str, Attack] = {}
attack = adder(ATTACKS)

# --- what is in it

NOTHING = (
    "pyvenv.cfg", "bin/python", "lib/python{}/site-packages/alpha-1.0.dist-info/METADATA",
    "lib/python{}/site-packages/alpha-1.0.dist-info/RECORD", "lib/python{}/site-packages/alpha-1.0.dist-info/WHEEL",
    "lib/python{}/site-packages/alpha-1.0.dist-info/INSTALLER", "lib/python{}/site-packages/alpha/__init__.py",
    "lib/python{}/site-packages/alpha-1.0.dist-info/direct_url.json",
)  # fmt: skip


@attack
def empty_and_endless(b: Bench, chance: random.Random) -> None:
    """A file of the environment is empty, a pipe, /dev/zero, a folder, a loop, 8 GB of nothing, unreadable bytes: it is
    a finding or unknown, within seconds, and never healthy where the interpreter or a package is gone."""
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for name in NOTHING:
        path = b.world.environment / name.format(minor)
        kept = b.folder / "kept"
        existed = os.path.lexists(path)
        if existed:
            path.rename(kept)
        for kind in ("empty", "pipe", "zero", "folder", "loop", "huge", "bytes"):
            _put(path, kind)
            done = b.run(b.check)
            b.expect(done.returncode != 0, f"{name}, {kind}: healthy")
            if kind not in ("huge", "pipe"):  # which are read to their ends, within the time that hashing has
                b.run([*b.check, "--deep"])
            path.rmdir() if kind == "folder" else path.unlink()
        if existed:
            kept.rename(path)


def _put(path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind in ("zero", "loop"):
        path.symlink_to("/dev/zero" if kind == "zero" else path.name)
    elif kind == "huge":
        os.truncate(_touched(path), 8 << 30)
    else:
        path.write_bytes(os.urandom(4096) if kind == "bytes" else b"")


def _touched(path: Path) -> Path:
    path.touch()
    return path


@attack
def hostile_start(b: Bench, chance: random.Random) -> None:
    """What the environment's own start-up files can do to the Python that asks: no clean bill, and an end."""
    site = next(b.world.environment.glob("lib/python3*/site-packages"))
    words = [word for word in b.check if word != "--no-torch"]
    for code in (
        "import os; os._exit(0)",
        "import os, signal; os.kill(os.getpid(), 9)",
        "import sys; sys.exit(0)",
        "while True: pass",
        "import os, time\nif os.fork() == 0: os.setsid(); time.sleep(30); os._exit(0)",
        "import builtins; builtins.open = None",
        "import sys; sys.modules.clear()",
        "import json; json.dumps = lambda *a, **k: '{}'",
        "import os; os.closerange(0, 100)",
        "import sys; sys.setrecursionlimit(10)",
        "import os; os.chdir('/'); os.environ.clear()",
        'print(\'{"torch": {"version": "2.13.0"}}\' * 100000)',
        "import os; [os.write(1, b'x' * 65536) for _ in range(2000)]",
        "raise SystemExit('x' * 1000000)",
        "import ctypes; ctypes.string_at(0)",
        "def f(): f()\nf()",
    ):
        (site / "sitecustomize.py").write_text(code + "\n")
        done = b.run(words, timeout=2 * SECONDS)  # an import of torch may take one minute
        b.expect(done.returncode != 0, f"healthy under {code[:60]}")
        b.run(b.check, codes={1})
    (site / "sitecustomize.py").unlink()


# --- what is given to us


@attack
def hostile_files(b: Bench, chance: random.Random) -> None:
    """A configuration, target, lock or report that is a pipe, endless, a folder, empty, bytes, a bomb: one sentence."""
    project = b.folder / "project"
    project.mkdir()
    bombs = {
        "deep": "[tool.envdoctor]\ntarget = " + "[" * 100_000,
        "dotted": "a." * 30_000 + "b = 1",
        "number": "[tool.envdoctor]\ntarget = " + "9" * 10_000,
        "types": "[tool.envdoctor]\ntarget = {a = [1, nan, inf, 1979-05-27]}\nselect = 7\nignore = [[]]",
        "nul": "[tool.envdoctor]\ntarget = 'a\\u0000b'",
        "bom": "\ufeff[tool.envdoctor]\ntarget = 'cpu'",
        "large": "# " + "x" * (30 << 20),
        "empty": "",
    }
    made: list[tuple[str, Callable[[Path], object]]] = [
        ("pipe", lambda path: os.mkfifo(path)),
        ("zero", lambda path: path.symlink_to("/dev/zero")),
        ("folder", lambda path: path.mkdir()),
        ("loop", lambda path: path.symlink_to(path.name)),
        ("huge", lambda path: os.truncate(_touched(path), 8 << 30)),
        ("bytes", lambda path: path.write_bytes(b"\xff\xfe\x00" * 1000)),
        *((name, lambda path, text=text: path.write_text(text)) for name, text in bombs.items()),
    ]
    for kind, make in made:
        for name, words in (
            ("pyproject.toml", b.check),
            ("envdoctor.toml", b.check),
            ("given.toml", ["check", "--no-torch", "--target", "given.toml", "--env", str(b.world.environment)]),
            ("given.toml", ["fix", "--yes", "--target", "given.toml", "--env", str(b.world.environment)]),
            ("report.txt", ["diagnose", "report.txt"]),
            ("Dockerfile", ["check", "Dockerfile"]),
            ("Dockerfile", ["check", "--dockerfile", "Dockerfile"]),
            ("requirements.txt", ["lock", "mine", "--from", "requirements.txt", "--folder", "mine"]),
            ("uv.lock", ["lock", "mine", "--from", "uv.lock", "--folder", "mine"]),
            ("facts.json", ["check", "--facts", "facts.json"]),
        ):
            path = project / name
            make(path)
            if kind == "pipe" and name not in ("pyproject.toml", "envdoctor.toml"):
                path.unlink()  # one that is named is waited for, as `cat` does; what is found by itself is not
                continue
            done = b.run(words, cwd=project)
            b.expect(len(done.stderr) < 3_000, f"{name}, {kind}: {len(done.stderr)} characters")
            path.rmdir() if kind == "folder" else path.unlink()
    b.expect(snapshot(b.world.environment) == b.before, "the environment was changed")
