"""Counts for SAFETY.md, one series a command; each ends in a JSON line, which is kept in recorded/safety.jsonl.

python -m tests.change.safety writes 40        # a `fix` while a program writes: writes that are lost without a word
python -m tests.change.safety caches 30        # files in place that the lock's hashes do not stand for: ours, and uv's
python -m tests.change.safety wheels 36        # wheels of the locked hash whose contents are hostile, by uv and by pip
python -m tests.change.safety certificates 14  # indexes that cannot show who they are
python -m tests.change.safety confusion 8      # another index with the same version, and a higher one
python -m tests.change.safety neighbours 10    # what we would make beside the environment is there, and somebody else's
python -m tests.change.safety managed 2        # a Python that its distributor keeps (PEP 668), as uv's own are
python -m tests.change.safety disks 20         # a disk that is full at some point
python -m tests.change.safety reflinks 5       # a file system that shares blocks: btrfs, on a loop device
python -m tests.change.safety quotas 10        # its quota, reached at some point
python -m tests.change.safety lists 5          # access control lists
python -m tests.change.safety many 1           # 100,000 files in the environment
python -m tests.change.safety users 4          # nobody at root's environment, root at nobody's
python -m tests.change.safety clocks 7         # clocks that are off, stand, run and jump (faketime)
python -m tests.change.safety cycles 500       # check, fix, check, undo in one process
python -m tests.change.safety hardships 19     # streams, limits, locales, places, files and start-up code of all kinds
python -m tests.change.safety strangers 27     # what others wrote: baselines, configurations, reports, calls, names

Root and Linux, with strace, setfacl, setpriv, openssl, btrfs-progs and gcc for those that need them.
``--record FILE`` appends the line there; ``--from N`` begins with the N-th trial.
"""

from __future__ import annotations

import argparse
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
from tests.change import attacks, btrfs, hardships, strangers, surroundings
from tests.change.conftest import World, make_environment, make_world, quiet
from tests.change.test_nothing_lost import SITE, written_to

PLANTED = ("planted.pth", "planted.py", "alpha/planted.py")


def writes(world: World, chance: random.Random, told: Counter[str], trial: int) -> None:
    """One change under a program that appends to two files and makes files in two folders every 10 ms."""
    del chance, trial
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
        told["bad: lost"] += 0 if name in missed else len(gone)
    for name in ("var/log", f"{SITE}/gamma/data"):
        gone = lines - {path.name for path in (world.environment / name).iterdir()}
        told["bad: lost"] += len(gone - {os.path.basename(path) for path in missed})


def caches(world: World, chance: random.Random, told: Counter[str], trial: int) -> None:
    """One installation from a warm cache in which one bit is turned, a line appended, or a file planted."""
    del trial
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
    told["beside: uv, trials"] += 1
    for what, site in (("bad: not what was locked", world.environment), ("beside: uv, bad", beside)):
        same = (site / SITE / module.relative_to(info.parent)).read_bytes() == sound
        planted = any((site / SITE / path).exists() for path in PLANTED)
        told[what] += not same or planted


Trial = Callable[[World, random.Random, Counter[str], int], None]
SERIES: dict[str, Trial] = {
    "writes": writes,
    "caches": caches,
    "wheels": attacks.wheels,
    "certificates": attacks.certificates,
    "confusion": attacks.confusion,
    "neighbours": attacks.neighbours,
    "managed": surroundings.managed,
    "disks": surroundings.disks,
    "reflinks": btrfs.reflinks,
    "quotas": btrfs.quotas,
    "lists": surroundings.lists,
    "many": surroundings.many,
    "users": surroundings.users,
    "clocks": surroundings.clocks,
    "cycles": surroundings.cycles,
    "hardships": hardships.trial,
    "strangers": strangers.trial,
}


def series(name: str, trials: int, first: int = 0) -> dict[str, object]:
    """Run so many trials, and count: ``bad`` is the sum of what was, by kind in ``counts``."""
    told: Counter[str] = Counter()
    for variable in [variable for variable in os.environ if variable.startswith(("PIP_", "UV_"))]:
        del os.environ[variable]
    began = time.monotonic()
    at_once = trials if name == "cycles" else 1  # in one world
    for begin in range(first, first + trials, at_once):
        with tempfile.TemporaryDirectory(prefix="safety-", ignore_cleanup_errors=True) as folder:
            own = {"UV_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "HOME": folder, "UV_CACHE_DIR": f"{folder}/cache"}
            os.environ.update(own)
            world = make_world(Path(folder))
            for trial in range(begin, begin + at_once):
                SERIES[name](world, random.Random(trial), told, trial)
    ours = {key: count for key, count in sorted(told.items()) if not key.startswith("beside: ") and count}
    beside = {key.removeprefix("beside: "): count for key, count in sorted(told.items()) if key.startswith("beside: ")}
    bad = sum(count for key, count in ours.items() if key.startswith("bad"))
    seconds = round(time.monotonic() - began, 1)
    return {
        "series": name, "first": first, "trials": trials, "bad": bad, "counts": ours, "beside": beside,
        "seconds": seconds,
    }  # fmt: skip


NEEDED = {"mkfs.btrfs": "btrfs-progs", "mkfs.xfs": "xfsprogs", "setfacl": "acl", "faketime": "faketime"}
"""Programs that a series starts, and the package of Debian that has them."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("series", choices=SERIES)
    parser.add_argument("trials", type=int)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--record", type=Path)
    given = parser.parse_args()
    try:
        line = json.dumps(series(given.series, given.trials, given.first))
    except FileNotFoundError as error:
        if error.filename not in NEEDED:
            raise
        print(f"not tried: {error.filename} is not here (apt-get install {NEEDED[error.filename]})", file=sys.stderr)
        return 3
    print(line)
    if given.record is not None:
        with given.record.open("a", encoding="utf-8") as record:
            print(line, file=record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
