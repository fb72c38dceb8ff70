"""Each row of `tests.change.strangers` by itself; ``python -m tests.change.safety strangers 27`` counts them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.change.bench import Bench
from tests.change.conftest import World
from tests.change.strangers import ATTACKS

QUICK = {"baseline_of_impossible_numbers", "baseline_of_odd_sizes", "baseline_with_a_million_numbers",
         "baselines_kept_that_are_not_ours", "fleet_with_pipes_and_devices", "fleet_of_lying_speeds",
         "cards_that_are_not_ours", "notebook_of_odd_environments"}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="pipes, mounts and /proc of Linux")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.faults) for name in ATTACKS]
)
def test_what_others_wrote_ends_as_it_says(name: str, world: World) -> None:
    if name.startswith("assistant_"):
        pytest.importorskip("mcp")
    bench = Bench(world)
    ATTACKS[name](bench, random.Random(1))
    if bench.not_tried:
        pytest.skip(bench.not_tried)
    assert bench.bad == []


@pytest.mark.parametrize(
    "text",
    ["target = 'a\\u0000b'", "script = ['a\\u0000b']", 'env = "x\\r::error::taken"', 'select = "\\u001b[31m"'],
    ids=["target", "script", "env", "select"],
)
def test_a_configuration_that_steers_is_refused_in_a_line_of_ours(text: str, world: World) -> None:
    bench = Bench(world)
    (bench.folder / "envdoctor.toml").write_text(text.replace("'", '"'))
    done = bench.run(["check", "--no-torch"], codes={2})
    assert "printable text" in done.stderr
    assert not any(line.lstrip().startswith("::") for line in done.stderr.splitlines())
    assert bench.bad == []


def test_what_a_message_quotes_is_no_annotation_and_no_flood(world: World) -> None:
    bench = Bench(world)
    words = ["check", "--no-torch", "--target", "x\r::error::taken\n  ::error::taken" + "y" * 60_000]
    done = bench.run(words, codes={2})
    assert not any(line.lstrip().startswith("::") for line in done.stderr.splitlines())
    assert len(done.stderr) < 6_000
    assert bench.bad == []


@pytest.mark.parametrize("name", ["$(touch x)", "a b", "'; x; '", "a\\b", "é" * 101, "a/b", ".."])
def test_a_lock_has_a_name_that_a_target_can_say(name: str, tmp_path: Path) -> None:
    from envdoctor.errors import Trouble
    from envdoctor.locks.writing.lock import path_of

    with pytest.raises(Trouble):
        path_of(name, tmp_path)


KILLED = """
import os, signal, sys
from pathlib import Path
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from envdoctor.locks.target import load
from envdoctor.locks.writing import lock, new_target
target = load(Path(sys.argv[1]))
if sys.argv[3] == "lock":
    lock._write_lock(Path(sys.argv[2], "pylock.small.toml"), Path(sys.argv[1]).parents[1].joinpath("pylock.small.toml").read_text())
else:
    new_target.write_target("mine", folder=Path(sys.argv[2]), like=target, origin="tests")
"""  # noqa: E501


@pytest.mark.parametrize("what", ["lock", "target"])
def test_the_next_lock_removes_the_draft_of_a_killed_one(what: str, world: World) -> None:
    bench = Bench(world)
    folder = bench.folder / "made"
    words = [sys.executable, "-c", KILLED, str(bench.target), str(folder), what]
    assert subprocess.run(words).returncode == -signal.SIGKILL
    held = folder / ("targets" if what == "target" else ".")
    assert len(os.listdir(held)) == 1
    words[2] = KILLED.replace("os.replace = ", "unused = ")
    subprocess.run(words, check=True)
    assert [name for name in os.listdir(held) if not name.endswith(".toml")] == []
