"""Series for SAFETY.md: Pythons that are managed by others, full disks, rights, 100,000 files, clocks, many cycles.

Each function is one trial in a world of its own; ``bad`` is a state between two, something lost, a success that was
none, a thing that grew, or a traceback.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from envdoctor import doctor
from envdoctor.change.apply import apply
from envdoctor.change.undo import undo
from envdoctor.facts.environment import locate
from envdoctor.rules.checkup import CheckOptions
from tests.change.attacks import INSTALLERS, Told, attempted, beside
from tests.change.conftest import World, fix_words, leftovers, make_world, quiet, run, snapshot, write_target
from tests.change.wheels import make_wheel

ROOT = Path(__file__).parents[2]
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all")


def envdoctor(
    *words: str | Path, under: tuple[str, ...] = (), fake: Mapping[str, str] | None = None, folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, with ``fake`` variables; ``under`` are words that start it."""
    return subprocess.run(
        [*under, sys.executable, "-m", "tests.change.driver", *map(str, words)],
        cwd=folder, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(fake or {})},
    )  # fmt: skip


def _broken(said: str) -> bool:
    """Whether a command ended by an error of its own, instead of naming what it met."""
    return "Traceback" in said or "internal error" in said


def managed(world: World, chance: random.Random, told: Told, trial: int) -> None:
    """A Python that its distributor asks to keep off (PEP 668), as uv's own are too: nothing is written to it."""
    del chance
    base = world.environment.parent / "cpython-3.11-linux-x86_64-gnu"
    real = Path(sys.base_prefix)
    (base / "bin").mkdir(parents=True)
    shutil.copy2(os.path.realpath(sys.executable), base / "bin" / "python3.11")
    for name in ("python", "python3"):
        (base / "bin" / name).symlink_to("python3.11")
    library = base / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    ignored = shutil.ignore_patterns("site-packages", "test", "tests", "idlelib", "__pycache__", "config-*")
    shutil.copytree(real / "lib" / library.name, library, ignore=ignored, symlinks=True)
    for shared in (real / "lib").glob("libpython*"):
        shutil.copy2(shared, base / "lib" / shared.name)
    (library / "EXTERNALLY-MANAGED").write_text("[externally-managed]\nError=Keep off.\n")
    (library / "site-packages").mkdir()
    into = [
        "--no-deps",
        "--no-index",
        "--find-links",
        world.wheels,
        "--target",
        library / "site-packages",
        "alpha==1.0",
    ]
    run(sys.executable, "-I", "-m", "pip", "install", "--quiet", *map(str, into))
    before = snapshot(base)
    installer = INSTALLERS[trial % 2]
    made = world.environment.parent / "work" / ".venv"  # where it makes one of its own, beside the Python that is kept
    made.parent.mkdir()
    words = fix_words(write_target(world, world.environment.parent / "locks"), base)
    for how in (words, [*words, "--force"], [*words, "--python", str(base / "bin" / "python3")]):
        done = envdoctor(*how, "--installer", installer, folder=made.parent)
        told[f"exit code {done.returncode}"] += 1
        told["bad: traceback"] += _broken(done.stderr)
        if snapshot(base) != before:
            told["bad: written to"] += 1
        told["bad: a success that was none"] += done.returncode == 0 and world.version("alpha", made) != "2.0"
    told[f"beside: {installer}, trials"] += 1
    beside(world, installer, base, "--no-deps", "--no-index", "--find-links", world.wheels, "alpha==2.0")
    told[f"beside: {installer}, bad"] += snapshot(base) != before


def disks(world: World, chance: random.Random, told: Told, trial: int) -> None:
    """A disk that is full at some point of the change, or never: the old state or the new, and what is said is so."""
    folder = world.environment.parent / "disk"
    folder.mkdir()
    installer = INSTALLERS[trial % 2]
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], check=True)
    try:
        small = make_world(folder)
        (small.wheels / small.new[0].wheel).unlink()
        wheels = world.environment.parent / "big"
        big = make_wheel(
            wheels, "alpha", "2.0", {"alpha/__init__.py": "version = '2.0'\n", "alpha/a": os.urandom(10**6)}
        )
        small = replace(small, new=(big, make_wheel(wheels, "beta", "2.0")), wheels=wheels)
        shutil.copytree(small.environment, folder / "copy", symlinks=True)
        state = os.statvfs(folder)
        free = state.f_bavail * state.f_frsize
        (folder / "filler").write_bytes(bytes(max(free - chance.randrange(3_500_000), 0)))
        before = snapshot(small.environment)
        changed = attempted(small, told, installer=installer)
        same = whole(small, small.environment)
        if changed != same or (not changed and snapshot(small.environment) != before):
            told[f"bad: {installer}"] += 1
        (folder / "filler").unlink()
        if not attempted(small, told, installer=installer) or not whole(small, small.environment):
            told[f"bad: {installer}, the next run"] += 1
        free = (state := os.statvfs(folder)).f_bavail * state.f_frsize
        (folder / "filler").write_bytes(bytes(max(free - chance.randrange(1_500_000), 0)))
        claimed = beside(
            small, installer, folder / "copy", "--no-deps", "--no-index", "--find-links", wheels, *_pins(small)
        )
        told[f"beside: {installer}, trials"] += 1
        old = snapshot(folder / "copy") == before
        told[f"beside: {installer}, bad"] += not old and not (claimed and whole(small, folder / "copy"))
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _pins(world: World) -> list[str]:
    return [f"{pin.name}=={pin.version}" for pin in world.new]


def whole(world: World, environment: Path) -> bool:
    """Whether both new packages are there to the last byte."""
    library = next(environment.glob("lib/python3*/site-packages"))
    data = library / "alpha" / "a"
    versions = [(library / name / "__init__.py") for name in ("alpha", "beta")]
    texts = [path.read_text() if path.is_file() else "" for path in versions]
    return texts == ["version = '2.0'\n"] * 2 and data.is_file() and data.stat().st_size == 10**6


def lists(world: World, chance: random.Random, told: Told, trial: int) -> None:
    """Access control lists on files and folders, and such as are handed down: kept by a fix, and all back by undo."""
    del trial
    environment = world.environment
    paths = [path for path in environment.rglob("*") if not path.is_symlink()]
    for path in chance.sample(paths, len(paths) // 3):
        subprocess.run(["setfacl", "-m", f"u:{chance.randrange(1000, 9999)}:r", path], check=True)
        if path.is_dir() and chance.random() < 0.5:
            subprocess.run(["setfacl", "-d", "-m", "u:4711:rwx", path], check=True)
    before = _rights(environment)
    inodes = {name: (environment / name).stat().st_ino for name in before if not (environment / name).is_dir()}
    attempted(world, told)
    now = _rights(environment)
    ours = ("alpha", "beta", "__pycache__", "_envdoctor", "envdoctor")
    kept = {name: text for name, text in before.items() if not any(part in name for part in ours)}
    wrong = [name for name, text in kept.items() if now.get(name) != text]
    told["paths with rights of their own"] += len(kept)
    told["bad"] += bool(wrong)
    undo(environment)
    back = _rights(environment)
    told["bad: after undo"] += any(back.get(name) != before[name] for name in inodes)


def _rights(root: Path) -> dict[str, str]:
    text = subprocess.run(["getfacl", "-R", "-P", "."], cwd=root, check=True, capture_output=True, text=True).stdout
    blocks = (block.partition("\n") for block in text.strip().split("\n\n"))
    return {name.removeprefix("# file: "): rights for name, _, rights in blocks if ".envdoctor" not in name}


def many(world: World, chance: random.Random, told: Told, trial: int) -> None:
    """100,000 files of somebody's own in the environment: there after a fix, and after an undo."""
    del chance, trial
    data = world.environment / "share" / "data"
    for folder in range(100):
        (data / str(folder)).mkdir(parents=True)
        for number in range(1000):
            (data / str(folder) / str(number)).touch()
    for act in (lambda: attempted(world, told), lambda: undo(world.environment)):
        act()
        found = sum(len(names) for _, _, names in os.walk(data))
        told["files seen again"] += found
        told["bad"] += found != 100_000


def users(world: World, chance: random.Random, told: Told, trial: int) -> None:
    """Two users: nobody at root's environment, root at nobody's, each by name and without taking anything away."""
    del chance
    parent = world.environment.parent
    words = fix_words(write_target(world, parent / "locks"), world.environment)
    before = snapshot(world.environment)
    for path in (parent, *parent.parents):
        if path.stat().st_uid == os.getuid() and path != Path("/") and path.is_relative_to(tempfile.gettempdir()):
            path.chmod(path.stat().st_mode | 0o055)
    if trial % 2:
        subprocess.run(["chown", "-hR", "65534:65534", world.environment], check=True)
        done = envdoctor(*words)
        owners = {path.lstat().st_uid for path in world.environment.rglob("*") if path.name not in _new(world)}
        told["bad: rights taken away"] += world.environment.stat().st_uid != 65534
        told[f"owners after root's fix: {sorted(owners)}"] += 1
        told["bad: not changed"] += done.returncode != 0
        return
    home = parent / "theirs"
    home.mkdir()
    home.chmod(0o777)
    done = envdoctor(*words, under=NOBODY, fake={name: str(home) for name in ("HOME", "UV_CACHE_DIR", "TMPDIR")})
    told[f"nobody's fix of root's: exit code {done.returncode}"] += 1
    told["bad: changed"] += snapshot(world.environment) != before
    told["bad: no word"] += done.returncode not in (2, 3) or _broken(done.stderr)
    told["bad: left over"] += bool(leftovers(world.environment))


def _new(world: World) -> set[str]:
    return {pin.name for pin in world.new}


CLOCKS = {  # offset in seconds, rate
    "ten years ahead": (315_360_000, 1), "ten years behind": (-315_360_000, 1), "1971": (-1_750_000_000, 1),
    "stands": (0, 0), "runs a hundred times as fast": (0, 100), "crawls": (0, 0.01), "runs backwards": (0, -1),
    "jumps to and fro by an hour": (3600, 1), "jumps to and fro by ten years": (315_360_000, 1),
}  # fmt: skip


def clocks(world: World, chance: random.Random, told: Told, trial: int) -> None:
    """A wall clock that is off, stands, runs, crawls, goes back or jumps: a fix is made, found healthy, and undone."""
    del chance
    kind = list(CLOCKS)[trial % len(CLOCKS)]
    offset, rate = CLOCKS[kind]
    note, library = world.environment.parent / "clock", world.environment.parent / "clock.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, Path(__file__).with_name("clock.c")], check=True)
    fake = {"LD_PRELOAD": str(library), "FAKE_CLOCK": str(note)}
    base = time.time()
    note.write_text(f"{base} {offset} {rate}")
    year = run(sys.executable, "-c", "import time; print(time.time())", **fake)
    assert kind.startswith("jumps") or abs(float(year) - base - offset) < 1000, year
    before = snapshot(world.environment)
    words = fix_words(write_target(world, world.environment.parent / "locks"), world.environment)
    done = threading.Event()

    def jump() -> None:
        sign = 1
        while not done.wait(0.2):
            fresh = note.with_name("fresh")
            fresh.write_text(f"{base} {(sign := -sign) * offset} {rate}")
            fresh.replace(note)

    thread = threading.Thread(target=jump if kind.startswith("jumps") else lambda: None)
    thread.start()
    try:
        fixed = envdoctor(*words, fake=fake)
        told[f"bad: fix, {kind}: {fixed.stderr[-200:]}"] += fixed.returncode != 0 or world.version("alpha") != "2.0"
        options = [word for word in words[1:] if word != "--yes"]
        checked = envdoctor("check", *options, "--no-torch", "--format", "json", fake=fake)
        told[f"bad: check, {kind}: {checked.stderr[-200:]}"] += checked.returncode != 0
        seconds = float(json.loads(checked.stdout.removeprefix("ready\n"))["seconds"])
        told[f"bad: {kind}: {seconds} seconds"] += not 0 <= seconds < 60
        undone = envdoctor("undo", "--env", world.environment, "--yes", fake=fake)
        told[f"bad: undo, {kind}: {undone.stderr[-200:]}"] += snapshot(world.environment) != before
    finally:
        done.set()
        thread.join()


SEEN: dict[str, dict[str, int]] = {}


def cycles(world: World, chance: random.Random, told: Told, trial: int) -> None:
    """check, fix, check, undo, over and over in one process and one environment: nothing grows, nothing is left."""
    del chance, trial
    number = told["cycles"] = told["cycles"] + 1
    old = snapshot(world.environment) if number % 20 == 0 else None
    options = CheckOptions(target="cpu", torch=False)
    for fixed in (False, True):
        checkup = doctor.examine(locate(world.environment), options)
        told["bad: unseen"] += checkup.diagnosis.outcome == "unknown"
        if not fixed:
            apply(world.change(), verify=lambda clone: None, progress=quiet)
            told["bad: not changed"] += world.version("alpha") != "2.0"
    undo(world.environment)
    told["bad: another state"] += old is not None and snapshot(world.environment) != old
    if number == 20:  # by now everything has been imported and cached
        SEEN["first"] = _size(world)
    if number % 50 == 0:
        print(f"{number} cycles", file=sys.stderr, flush=True)  # it takes a quarter of an hour
    if number > 20 and number % 10 == 0:
        first, now = SEEN["first"], _size(world)
        for what, value in now.items():
            told[f"{what}: at cycle 20"] = first[what]
            told[f"{what}: last"] = value
        told["bad: grown"] = sum(now[what] > first[what] * (1.1 if what.startswith("kB") else 1) for what in now)


def _size(world: World) -> dict[str, int]:
    status = Path("/proc/self/status").read_text()
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    folder = world.environment.parent
    used = subprocess.run(["du", "-s", "--apparent-size", "-k", folder], capture_output=True, text=True, check=True)
    return {
        "kB of memory": int(status.split("VmRSS:")[1].split()[0]),
        "open descriptors": len(os.listdir("/proc/self/fd")),
        "children": len(children),
        "files and folders": sum(len(names) + len(files) for _, names, files in os.walk(folder)),
        "kB on disk": int(used.stdout.split()[0]),
        "temporary folders": len([name for name in os.listdir(tempfile.gettempdir()) if name.startswith("envdoctor-")]),
    }
