"""Extras of a stack (PEP 751): locked beside what everybody gets, and taken by who asks for them or has them."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor.facts.model import Distribution, Packages
from envdoctor.locks import stack, target
from envdoctor.locks.choice import choose_stack
from envdoctor.locks.lint import lint
from envdoctor.locks.platforms import interpreter
from envdoctor.locks.writing.fetch import fetch
from envdoctor.locks.writing.inputs import Inputs
from envdoctor.locks.writing.lock import write_answer
from envdoctor.locks.writing.new_target import write_target
from envdoctor.locks.writing.resolver import resolve
from envdoctor.sources.sources import Sources
from envdoctor.system import process
from envdoctor.values.document import read_toml
from tests.commands.test_check import envdoctor
from tests.locks.test_choice import TARGETS, machine
from tests.locks.writing.conftest import build_wheel, home, lock, package, shelf, shelved, write_lock

__all__ = ["home", "shelf", "shelved"]
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
EXTRAS = {"fast": "fast>=1", "small": "small"}


@pytest.fixture
def path(shelf: Path, shelved: Sources, tmp_path: Path) -> Path:
    """torch needs numbers; fast and small need kernels, and fast on old Pythons another one, and numbers."""
    build_wheel(shelf, "torch", "2.0", requires=("numbers",))
    build_wheel(shelf, "numbers", "1.0")
    build_wheel(shelf, "fast", "1.0", requires=("kernels", "numbers", 'older ; python_version < "3.12"'))
    build_wheel(shelf, "small", "1.0", requires=("kernels",))
    for name in ("kernels", "older"):
        build_wheel(shelf, name, "1.0")
    inputs = Inputs(requirements=("torch", *EXTRAS.values()), pythons=("3.11", "3.12"), machines=("x86_64",))
    answer = resolve(inputs, shelved)
    write_answer("mine", answer, inputs, folder=tmp_path / "locks", sources=shelved, extras=EXTRAS)
    return tmp_path / "locks" / "pylock.mine.toml"


def names(path: Path, python: str, *extras: str) -> set[str]:
    chosen = stack.select(stack.load(path), interpreter(python, "x86_64"), extras)
    assert isinstance(chosen, tuple), chosen
    return {pin.name for pin in chosen}


def test_what_extras_alone_bring_is_marked_with_them(path: Path) -> None:
    data = read_toml(path)
    assert data["extras"] == ["fast", "small"]
    assert {one["name"]: one["marker"] for one in data["packages"] if "marker" in one} == {
        "fast": "'fast' in extras",
        "small": "'small' in extras",
        "kernels": "'fast' in extras or 'small' in extras",
        "older": "(python_version < '3.12') and ('fast' in extras)",
    }
    assert lint(path) == ()


def test_each_extra_brings_its_own_and_none_brings_nothing(path: Path) -> None:
    assert names(path, "3.12") == {"torch", "numbers"}
    assert names(path, "3.12", "small") == {"torch", "numbers", "small", "kernels"}
    assert names(path, "3.11", "fast") == {"torch", "numbers", "fast", "kernels", "older"}
    assert names(path, "3.12", "fast", "small") == {"torch", "numbers", "fast", "small", "kernels"}
    part = stack.load_for(path, interpreter("3.12", "x86_64"))
    assert stack.select(part, interpreter("3.12", "x86_64"), ["fast"]) == stack.select(
        stack.load(path), interpreter("3.12", "x86_64"), ["fast"]
    )


@pytest.mark.skipif(not (3, 11) <= sys.version_info[:2] < (3, 13), reason="the lock is for Python 3.11 and 3.12")
def test_uv_takes_the_same_from_it(path: Path, shelf: Path, tmp_path: Path) -> None:
    """Another installer of PEP 751 reads the extras as they are meant; the wheels lie beside the lock."""
    (path.parent / "wheels").symlink_to(shelf)
    uv = [sys.executable, "-m", "uv"]
    environment = tmp_path / "env"
    made = process.run([*uv, "venv", "--python", sys.executable, str(environment)], deadline=60)
    assert made.ok, made.err
    words = ["pip", "install", "--dry-run", "--offline", "--python", str(environment), "-r", path.name]
    for extras, there in (((), {"numbers", "torch"}), (("--extra", "small"), {"numbers", "torch", "small", "kernels"})):
        outcome = process.run([*uv, *words, *extras], deadline=60, cwd=path.parent, env={**os.environ, "NO_COLOR": "1"})
        assert outcome.ok, outcome.err
        assert {line.split()[1].partition("==")[0] for line in outcome.err.splitlines() if line[:3] == " + "} == there


def test_what_is_fetched_serves_every_extra(path: Path, shelved: Sources, tmp_path: Path) -> None:
    fetch(stack.load(path), interpreter("3.12", "x86_64"), tmp_path / "stick", sources=shelved)
    found = {one.name.partition("-")[0] for one in (tmp_path / "stick" / "wheels").iterdir()}
    assert found == {"torch", "numbers", "fast", "small", "kernels"}


@pytest.mark.parametrize(
    ("of_target", "asked", "installed", "there"),
    [
        ((), (), (), set()),
        (("fast",), (), (), {"fast", "kernels"}),
        ((), ("small",), (), {"small", "kernels"}),
        ((), (), ("small",), {"small", "kernels"}),
        (("fast",), ("small",), ("kernels",), {"fast", "small", "kernels"}),
        ((), ("unknown",), (), set()),
    ],
)
def test_extras_of_the_target_asked_for_and_installed_are_taken(
    path: Path, of_target: tuple[str, ...], asked: tuple[str, ...], installed: tuple[str, ...], there: set[str]
) -> None:
    held = Packages(distributions=tuple(Distribution(name=name, version="0.1") for name in installed))
    facts = replace(machine(python="3.12.1"), packages=held)
    wanted = replace(TARGETS["cpu"], stacks=("mine",), extras=of_target)
    chosen = choose_stack(wanted, {"mine": stack.load(path)}, facts, extras=asked).choice
    assert chosen is not None
    assert {pin.name for pin in chosen.pins} == {"torch", "numbers", *there}


def test_a_target_whose_stack_lacks_its_extra_has_no_stack(path: Path) -> None:
    wanted = replace(TARGETS["cpu"], stacks=("mine",), extras=("fats",))
    chosen = choose_stack(wanted, {"mine": stack.load(path)}, machine(python="3.12.1"))
    assert chosen.choice is None
    assert "it locks no extra fats" in (chosen.no_choice or "")


def test_a_target_carries_its_extras_in_its_file(path: Path) -> None:
    written = write_target("mine", folder=path.parent, like=TARGETS["cpu"], origin="cpu with extras", extras=["fast"])
    assert target.load(written).extras == ("fast",)


def test_an_extra_that_no_python_can_have_is_a_flaw(tmp_path: Path) -> None:
    torn = (package("alpha"), package("beta", "1.0", marker="'fast' in extras"), package("beta", "2.0"))
    flaws = lint(write_lock(tmp_path, lock(*torn, extras=["fast"])))
    assert any("with fast" in flaw.problem and flaw.fatal for flaw in flaws)


def test_fix_takes_an_extra_by_the_locks_hash(path: Path, shelf: Path, shelved: Sources, tmp_path: Path) -> None:
    """Whole, on a real environment: a newer release is at hand, and the locked one is installed."""
    build_wheel(shelf, "einops", "1.0")
    environment = tmp_path / "env"
    assert process.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], deadline=120).ok
    inputs = Inputs(requirements=("numbers", "einops"), pythons=(PYTHON,), machines=("x86_64",))
    extras = {"einops": "einops"}
    write_answer("mine", resolve(inputs, shelved), inputs, folder=path.parent, sources=shelved, extras=extras)
    place = write_target("mine", folder=path.parent, like=TARGETS["cpu"], origin="a test")
    build_wheel(shelf, "einops", "2.0")
    (path.parent / "wheels").symlink_to(shelf)
    words = ("--env", environment, "--target", place, "--yes", "--select", "packages")
    plain = envdoctor("fix", *words, UV_OFFLINE="1", PIP_NO_INDEX="1")
    assert plain.code == 0, plain.err
    assert "einops" not in plain.err
    extended = envdoctor("fix", *words, "--with", "einops", UV_OFFLINE="1", PIP_NO_INDEX="1")
    assert extended.code == 0, extended.err
    there = next((environment / "lib").glob("python*/site-packages"))
    assert [one.name for one in there.glob("einops*.dist-info")] == ["einops-1.0.dist-info"]
