from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor.errors import Trouble
from envdoctor.locks import stack
from envdoctor.locks.platforms import interpreter
from envdoctor.locks.target import Baseline, Target
from envdoctor.locks.writing.drift import Newer, check_stack
from envdoctor.locks.writing.inputs import Inputs
from envdoctor.locks.writing.lock import write_stack
from envdoctor.sources.sources import Sources
from tests.locks.writing.conftest import build_wheel

INPUTS = Inputs(requirements=("alpha==1.0", "beta"), pythons=("3.11", "3.12"), machines=("x86_64",))


def baseline(lock: str | None, stack: str = "mine", evidence: str = "measured") -> Baseline:
    return Baseline(workload="chat", stack=stack, evidence=evidence, lock=lock, windows=((1.0,),))  # type: ignore[arg-type]


@pytest.fixture
def shelf_and_lock(shelf: Path, shelved: Sources, tmp_path: Path) -> stack.Stack:
    build_wheel(shelf, "alpha", "1.0")
    build_wheel(shelf, "beta", "1.0")
    return write_stack("mine", INPUTS, folder=tmp_path, sources=shelved).stack


def test_nothing_new(shelf_and_lock: stack.Stack, shelved: Sources) -> None:
    drift = check_stack(shelf_and_lock, INPUTS, sources=shelved, targets=())
    assert (drift.newer, drift.at_stake, drift.stale, drift.unknown) == ((), (), (), "")


def test_newer_releases_and_those_held_back(shelf_and_lock: stack.Stack, shelf: Path, shelved: Sources) -> None:
    build_wheel(shelf, "alpha", "2.0")
    build_wheel(shelf, "beta", "1.1")
    before = shelf_and_lock.path.read_bytes()
    drift = check_stack(shelf_and_lock, INPUTS, sources=shelved, targets=())
    assert drift.newer == (
        Newer(name="beta", locked="1.0", newest="1.1"),
        Newer(name="alpha", locked="1.0", newest="2.0", held=True),
    )
    assert shelf_and_lock.path.read_bytes() == before


def test_baselines_of_this_very_lock_are_at_stake(shelf_and_lock: stack.Stack, shelf: Path, shelved: Sources) -> None:
    chosen = stack.select(shelf_and_lock, interpreter("3.12", "x86_64"))
    assert isinstance(chosen, tuple)
    ours, old = baseline(stack.digest(chosen)), baseline("0" * 64)
    others = (baseline(stack.digest(chosen), stack="other"), baseline(None, evidence="claimed"))
    target = Target(name="gpu", title="GPU", baselines=(ours, old, *others))
    drift = check_stack(shelf_and_lock, INPUTS, sources=shelved, targets=[target])
    assert drift.at_stake == ()  # nothing is newer: the same lock would be written again
    assert drift.stale == (("gpu", old),)
    build_wheel(shelf, "beta", "1.1")
    drift = check_stack(shelf_and_lock, INPUTS, sources=shelved, targets=[target])
    assert drift.at_stake == (("gpu", ours),)
    assert drift.stale == (("gpu", old),)


def test_what_no_step_runs_puts_no_baseline_at_stake(shelf: Path, shelved: Sources, tmp_path: Path) -> None:
    for name in ("alpha", "beta", "filelock"):
        build_wheel(shelf, name, "1.0")
    inputs = replace(INPUTS, requirements=(*INPUTS.requirements, "filelock"))
    written = write_stack("mine", inputs, folder=tmp_path, sources=shelved).stack
    chosen = stack.select(written, interpreter("3.12", "x86_64"))
    assert isinstance(chosen, tuple)
    steps, whole = baseline(stack.training_digest(chosen)), baseline(stack.digest(chosen))
    target = Target(name="gpu", title="GPU", baselines=(steps, whole))
    build_wheel(shelf, "filelock", "1.1")
    drift = check_stack(written, inputs, sources=shelved, targets=[target])
    assert [one.name for one in drift.newer] == ["filelock"]
    assert (drift.at_stake, drift.stale) == ((("gpu", whole),), ())
    build_wheel(shelf, "beta", "1.1")
    drift = check_stack(written, inputs, sources=shelved, targets=[target])
    assert drift.at_stake == (("gpu", steps), ("gpu", whole))


def test_what_is_held_back_may_not_be_known(shelf_and_lock: stack.Stack, shelf: Path, shelved: Sources) -> None:
    """Without its pin alpha's newest release asks for what no index has: the rest is still told."""
    build_wheel(shelf, "alpha", "0.1", requires=("absent",))
    pinned = Inputs(requirements=("alpha==1.0", "beta==1.0", "alpha<1.1"), pythons=("3.11",), machines=("x86_64",))
    drift = check_stack(shelf_and_lock, pinned, sources=shelved, targets=())
    assert drift.newer == ()
    for path in shelf.glob("alpha-1.0*"):
        path.unlink()
    with pytest.raises(Trouble, match="alpha"):
        check_stack(shelf_and_lock, pinned, sources=shelved, targets=())
