"""Names of locks and drafts, and file systems that a user has and a developer has not."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.change.bench import Attack, Bench, adder, mounted
from tests.change.conftest import snapshot
from tests.change.strange.telling import ODD, SECONDS, plain, told

ATTACKS: dict[str, Attack] = {}
attack = adder(ATTACKS)


# --- names of locks, and drafts

HOSTILE_NAMES = ("../../escaped", "/tmp/escaped-lock", ".", "..", "a/b", "a\nb", "$(touch escaped)", "a.b", "", " ",
                 "x" * 300, ODD, "-", "a\\b", "\u202efdp", "CON", "a b", "'; touch escaped; '", "é" * 130)  # fmt: skip


def _beside(b: Bench) -> list[str]:
    return sorted(str(path.relative_to(b.folder)) for path in (b.folder / "project").rglob("*"))


@attack
def lock_of_hostile_names(b: Bench, chance: random.Random) -> None:
    """Names that lead elsewhere, steer, or cannot be a file's: refused, and nothing is made outside the folder."""
    project = b.folder / "project"
    project.mkdir()
    (project / "requirements.txt").write_text("alpha==2.0\n")
    around = set(os.listdir(b.folder)) | {"home"}
    for name in HOSTILE_NAMES:
        words = ["lock", "--from", "requirements.txt", "--folder", "locks", "--", name]
        index = {"UV_FIND_LINKS": str(b.world.wheels)}
        told(b, words, [0, 1, 2, 3], f"{name!r:.20}", cwd=project, env=index)
        told(b, ["lock", "--lint", "--", name], [0, 1, 2, 3], f"lint {name!r:.20}", cwd=project)
        told(
            b, ["lock", "cpu", "--with", "alpha", f"--as={name}"], [1, 2, 3], f"as {name!r:.20}", cwd=project, env=index
        )
        told(b, plain(b, f"--stack={name}"), [1, 2, 3] if name else [0, 1, 2, 3], f"stack {name!r:.20}", cwd=project)
    b.expect(set(os.listdir(b.folder)) <= around, f"made: {sorted(set(os.listdir(b.folder)) - around)}")
    b.expect(not os.path.exists("/tmp/escaped-lock"), "made in /tmp")
    odd = [
        path
        for path in _beside(b)
        if "escaped" in path or "$" in path or "\n" in path or "\x1b" in path or ".." in path
    ]
    b.expect(not odd, f"made: {odd}")


@attack
def lock_that_is_killed(b: Bench, chance: random.Random) -> None:
    """SIGKILL at a random moment of `lock`, thirty times, then one to its end: it leaves no draft of any of them."""
    project = b.folder / "project"
    project.mkdir()
    (project / "requirements.txt").write_text("alpha==2.0\nbeta==2.0\n")
    words = [sys.executable, "-m", "envdoctor", "lock", "mine", "--from", "requirements.txt", "--folder", "locks"]
    env = {**os.environ, "UV_FIND_LINKS": str(b.world.wheels)}
    began = time.monotonic()
    first = subprocess.run(words, cwd=project, env=env, capture_output=True, text=True, timeout=60)
    whole = time.monotonic() - began
    b.expect(first.returncode == 0, f"{first.returncode}: {first.stderr[-300:]}")
    for trial in range(30):
        for path in (project / "locks").rglob("*.toml"):
            path.unlink()
        process = subprocess.Popen(words, cwd=project, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.6, 1.0) * whole if trial % 3 else chance.uniform(0, whole))
        process.kill()
        process.wait()
    subprocess.run(words, cwd=project, env=env, capture_output=True, timeout=60)
    left = [
        path for path in _beside(b) if not path.endswith(".toml") and not path.endswith(("locks", "targets", ".txt"))
    ]
    b.expect(not left, f"left: {left}")
    held = [name for name in os.listdir("/tmp") if name.startswith("envdoctor-held-")]
    b.expect(len(held) <= 8, f"temporary folders: {len(held)}")


# --- file systems


@contextlib.contextmanager
def _xfs(b: Bench) -> Iterator[Path]:
    image = b.folder.parent / f"{b.folder.name}.xfs"
    with image.open("wb") as file:
        file.truncate(400 << 20)
    try:
        subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", str(image)], check=True, capture_output=True)
        with mounted(b.folder.parent / f"{b.folder.name}-xfs", "-o", "loop", str(image)) as folder:
            yield folder
    finally:
        image.unlink(missing_ok=True)


@attack
def on_xfs(b: Bench, chance: random.Random) -> None:
    """On XFS, which shares blocks: the change by exchange, edits in place in the new state only, undo bit for bit."""
    from tests.change.conftest import make_world

    if os.geteuid() != 0 or shutil.which("mkfs.xfs") is None:
        b.not_tried = "needs root and mkfs.xfs"
        return
    with _xfs(b) as folder:
        inner = Bench(make_world(folder))
        said = inner.run([*inner.fix], codes={0})
        inner.expect(inner.version() == "2.0", f"not changed: {said.stdout[-300:]}")
        for path in inner.world.environment.rglob("*.py"):
            if path.is_file() and not path.is_symlink() and "site-packages" in str(path):
                with path.open("r+b") as file:
                    file.seek(0, os.SEEK_END)
                    file.write(b"\n# edited\n")
        inner.run([*inner.undo, "--force"], codes={0})
        inner.expect(snapshot(inner.world.environment) == inner.before, "undo is not what it was")
        inner.reaches_new()
        b.bad += inner.bad


@attack
def by_a_bind_mount(b: Bench, chance: random.Random) -> None:
    """An environment reached through a bind mount: changed and undone; two changes by its two names never mix."""
    if os.geteuid() != 0:
        b.not_tried = "needs to mount"
        return
    other = b.folder / "elsewhere"
    other.mkdir()
    real = b.world.environment
    with mounted(other / ".venv", "--bind", str(real)) as bound:
        words = [str(bound) if word == str(real) else word for word in b.fix]
        b.old_or_new(b.run(words))
        b.run(["undo", "--env", str(bound), "--yes"], codes={0})
        b.expect(snapshot(real) == b.before, "undone to something else")
        for _ in range(4):
            both = [
                subprocess.Popen(
                    [sys.executable, "-m", "envdoctor", *one], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
                )
                for one in (words, b.fix)
            ]
            codes = [process.wait(SECONDS) for process in both]
            said = [process.communicate()[0].decode() for process in both]
            b.expect(set(codes) <= {0, 3}, f"{codes}: {said}")
            b.old_or_new()
            code = "import alpha, beta; print(alpha.version, beta.version)"
            now = subprocess.run([bound / "bin" / "python", "-c", code], capture_output=True, text=True)
            b.expect(now.stdout.split() in (["2.0", "2.0"], ["1.0", "1.0"]), f"mixed: {now.stdout}{now.stderr[-200:]}")
            for one in (str(bound), str(real)):
                b.run(["undo", "--env", one, "--yes", "--force"])
