"""An environment under attack, what went wrong with it, and how attacks are counted."""

from __future__ import annotations

import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.change.attacks import Told
from tests.change.conftest import World, fix_words, leftovers, make_world, snapshot, write_target

SECONDS = 60.0  # an answer takes one; a machine that is shared, several
CODES = frozenset({0, 1, 2, 3, 75, 130, 143})
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all")


@dataclass
class Bench:
    """An environment, a target that asks for another state of it, and what went wrong."""

    world: World
    bad: list[str] = field(default_factory=list)
    not_tried: str = ""

    def __post_init__(self) -> None:
        self.folder = self.world.environment.parent
        self.target = write_target(self.world, self.folder / "locks")
        self.before = snapshot(self.world.environment)

    @property
    def check(self) -> list[str]:
        return ["check", "--no-torch", "--target", str(self.target), "--env", str(self.world.environment)]

    @property
    def fix(self) -> list[str]:
        return fix_words(self.target, self.world.environment)

    @property
    def undo(self) -> list[str]:
        return ["undo", "--env", str(self.world.environment), "--yes"]

    def run(
        self,
        words: list[str],
        *,
        shell: str = "",
        under: tuple[str, ...] = (),
        codes: frozenset[int] | set[int] = CODES,
        env: dict[str, str | None] | None = None,
        cwd: Path | None = None,
        **options: object,
    ) -> subprocess.CompletedProcess[str]:
        """The command; ``shell`` is what bash does before it becomes it, ``codes`` what it may answer."""
        variables = {**os.environ, "PYTHONFAULTHANDLER": "", **{k: v for k, v in (env or {}).items() if v is not None}}
        for name in [name for name, value in (env or {}).items() if value is None] + ["PYTHONFAULTHANDLER"]:
            variables.pop(name, None)
        argv = [*under, "/bin/bash", "-c", f'{shell} exec "$0" "$@"', sys.executable, "-m", "envdoctor", *words]
        settings: dict[str, object] = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": SECONDS}
        try:
            done = subprocess.run(
                argv, env=variables, cwd=cwd or self.folder, text=True, errors="replace", **(settings | options)
            )  # type: ignore[call-overload]
        except subprocess.TimeoutExpired:
            self.bad.append(f"{words[0]}: no end within {SECONDS:g} s")
            return subprocess.CompletedProcess(argv, 0, "", "")
        said = f"{done.stdout}{done.stderr}"
        for word in ("Traceback", "internal error", "Exception ignored"):
            if word in said:
                self.bad.append(f"{words[0]}: {word}: {said[-600:]}")
        if done.returncode not in codes:
            self.bad.append(f"{words[0]}: exit code {done.returncode}: {said[-300:]}")
        if len(said.replace("\0", "")) > 20_000:
            self.bad.append(f"{words[0]}: {len(said)} characters of output")
        return done  # type: ignore[no-any-return]

    def expect(self, what: bool, words: str) -> None:
        if not what:
            self.bad.append(words)

    def old_or_new(self, done: subprocess.CompletedProcess[str] | None = None) -> None:
        """The environment is in one of the two states, and in the new one where that was claimed."""
        new = self.version() == "2.0"
        self.expect(new or snapshot(self.world.environment) == self.before, "a state between two")
        if done is not None:
            self.expect(new or done.returncode != 0, "a success that was none")

    def version(self) -> str:
        found = list(self.world.environment.glob("lib/python3*/site-packages/alpha/__init__.py"))
        return found[0].read_text().partition("'")[2].partition("'")[0] if found else ""

    def reaches_new(self) -> None:
        """One plain run more ends in the new state, with nothing left over."""
        self.run(self.fix, codes={0})
        self.expect(self.version() == "2.0", "the next run did not reach the new state")
        left = [
            name
            for name in leftovers(self.world.environment)
            if not re.fullmatch(r"\.envdoctor-\.venv(-\d+|\.journal)", name)
        ]
        self.expect(not left, f"left over: {left}")


Attack = Callable[[Bench, random.Random], None]


def adder(attacks: dict[str, Attack]) -> Callable[[Attack], Attack]:
    """A decorator: the function is one of these attacks, by its name."""

    def add(function: Attack) -> Attack:
        attacks[function.__name__] = function
        return function

    return add


@contextlib.contextmanager
def mounted(folder: Path, *words: str) -> Iterator[Path]:
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", *words, str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def trial_of(attacks: Mapping[str, Attack], world: World, chance: random.Random, told: Told, number: int) -> None:
    """One of these attacks, for the series of SAFETY.md."""
    name = list(attacks)[number % len(attacks)]
    bench = Bench(world)
    attacks[name](bench, chance)
    told[f"not tried: {name}"] += bool(bench.not_tried)
    for what in bench.bad[:5]:
        told[f"bad: {name}: {what[:200]}"] += 1


def main(attacks: Mapping[str, Attack], names: Sequence[str]) -> int:
    """Those of these names, or all: each in a world of its own; what came of it is printed."""
    bad = 0
    for name in names or attacks:
        with tempfile.TemporaryDirectory(prefix="attack-", ignore_cleanup_errors=True) as folder:
            for variable in [variable for variable in os.environ if variable.startswith(("PIP_", "UV_"))]:
                del os.environ[variable]
            os.environ.update(UV_NO_INDEX="1", PIP_CONFIG_FILE=os.devnull, UV_CACHE_DIR=f"{folder}/cache")
            bench = Bench(make_world(Path(folder)))
            began = time.monotonic()
            attacks[name](bench, random.Random(1))
            how = bench.not_tried or f"{len(bench.bad)} bad"
            print(f"{name}: {how}, {time.monotonic() - began:.0f} s", flush=True)
            for what in bench.bad:
                print("   ", what.replace("\n", " | ")[-700:], flush=True)
            bad += len(bench.bad)
    return int(bool(bad))
