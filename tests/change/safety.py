"""Counts for SAFETY.md: what becomes of an environment under a writer, and of a package from a damaged cache.

python -m tests.change.safety writes 40     # a `fix` while a program writes: writes that are lost without a word
python -m tests.change.safety caches 30     # files in place that the lock's hashes do not stand for: ours, and uv's
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from envdoctor.change.apply import apply, create
from envdoctor.change.installers import find_uv
from envdoctor.errors import Trouble
from tests.change.conftest import World, make_environment, make_world, quiet
from tests.change.test_nothing_lost import SITE, written_to

PLANTED = ("planted.pth", "planted.py", "alpha/planted.py")


def writes(world: World, _: random.Random, told: Counter[str]) -> None:
    """One change under a program that appends to two files and makes files in two folders every 10 ms."""
    missed: tuple[str, ...] = ()
    with written_to(world.environment) as rounds:
        try:
            missed = apply(world.change(), verify=lambda clone: None, progress=quiet).missed
            told["changed"] += 1
        except Trouble:
            told["refused by name"] += 1
        time.sleep(0.05)
    lines = {str(number) for number in range(rounds[0])}
    told["writes"] += 4 * len(lines)
    told["told as missed"] += len(missed)
    for name in ("etc/app.conf", f"{SITE}/gamma/settings.cfg"):
        gone = lines - set((world.environment / name).read_text().split())
        told["lost"] += 0 if name in missed else len(gone)
    for name in ("var/log", f"{SITE}/gamma/data"):
        gone = lines - {path.name for path in (world.environment / name).iterdir()}
        told["lost"] += len(gone - {os.path.basename(path) for path in missed})


def caches(world: World, chance: random.Random, told: Counter[str]) -> None:
    """One installation from a warm cache in which one bit is turned, a line appended, or a file planted."""
    other = world.change(environment=world.environment.parent / "other", python=sys.executable)
    create(other, verify=lambda clone: None, progress=quiet)
    (info,) = (world.environment.parent / "cache").rglob("alpha-2.0.dist-info")
    module = info.parent / "alpha" / chance.choice(("__init__.py", "fresh.py"))
    sound = module.read_bytes()
    kind = chance.choice(("bit", "line", "plant"))
    if kind == "plant":
        (info.parent / chance.choice(PLANTED)).write_text("pass\n")
    else:
        place = chance.randrange(len(sound))
        turned = sound[:place] + bytes([sound[place] ^ 1 << chance.randrange(8)]) + sound[place + 1 :]
        with module.open("r+b") as file:
            file.write(turned if kind == "bit" else sound + b"x = 1\n")
    beside = world.environment.parent / "beside"
    make_environment(beside)
    pins = "".join(f"{pin.name}=={pin.version} --hash=sha256:{pin.sha256}\n" for pin in world.new)
    (beside / "pins.txt").write_text(pins)
    hashed = ("--no-index", "--require-hashes", "--find-links", world.wheels, "--requirements", beside / "pins.txt")
    run = (
        find_uv() or "uv",
        "pip",
        "install",
        "--quiet",
        "--no-config",
        "--python",
        beside / "bin" / "python",
        *hashed,
    )
    subprocess.run(run, check=True, timeout=60)
    apply(world.change(), verify=lambda clone: None, progress=quiet)
    for name, place in (("envdoctor fix", world.environment), ("uv pip install --require-hashes", beside)):
        same = (place / SITE / module.relative_to(info.parent)).read_bytes() == sound
        planted = any((place / SITE / path).exists() for path in PLANTED)
        told[f"{name}: not what was locked"] += not same or planted


SERIES: dict[str, Callable[[World, random.Random, Counter[str]], None]] = {"writes": writes, "caches": caches}


def main(series: str, trials: int) -> None:
    """Run a series of so many trials and print its counts as JSON."""
    told: Counter[str] = Counter()
    chance = random.Random(1)
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        del os.environ[name]
    for _ in range(trials):
        with tempfile.TemporaryDirectory(prefix="envdoctor-safety-") as folder:
            own = {"UV_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "HOME": folder, "UV_CACHE_DIR": f"{folder}/cache"}
            os.environ.update(own)
            SERIES[series](make_world(Path(folder)), chance, told)
    print(json.dumps({"series": series, "trials": trials, **dict(sorted(told.items()))}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
