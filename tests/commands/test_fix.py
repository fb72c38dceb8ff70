"""`fix`, `undo`, `run` as a user runs them, on a real environment with a small lock of its own; no network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envdoctor.system import process
from tests.change.conftest import World, install, make_world, snapshot, write_target
from tests.change.wheels import make_wheel
from tests.commands.test_check import envdoctor


@pytest.fixture
def target(tmp_path: Path) -> tuple[World, Path]:
    """An environment with old packages, and a target whose lock (wheels beside it) holds newer ones."""
    world = make_world(tmp_path / "world", "env")
    return world, write_target(world, tmp_path / "locks")


SELECT = ("--select", "packages", "--select", "variables")
OFFLINE = {"UV_OFFLINE": "1", "PIP_NO_INDEX": "1"}


def test_fix_repairs_and_undo_brings_back_bit_for_bit(target: tuple[World, Path]) -> None:
    world, path = target
    words = ("--target", path, "--env", world.environment)
    before = snapshot(world.environment)
    assert envdoctor("check", *words, "--no-torch", *SELECT, **OFFLINE).code == 1

    plan = envdoctor("fix", *words, "--dry-run", *SELECT, **OFFLINE)
    assert plan.code == 0, plan.err
    assert "alpha" in plan.err
    assert "1.0 → 2.0" in plan.err
    assert snapshot(world.environment) == before

    fixed = envdoctor("fix", *words, "--yes", "--format", "json", *SELECT, **OFFLINE)
    assert fixed.code == 0, fixed.err
    change = json.loads(fixed.out)["change"]
    assert change["changed"]
    assert {(p["name"], p["before"], p["after"]) for p in change["packages"]} == {
        ("alpha", "1.0", "2.0"),
        ("beta", "1.0", "2.0"),
    }
    assert "gamma 1.0" in change["kept"]
    assert world.version("alpha") == "2.0"
    assert envdoctor("check", *words, "--no-torch", *SELECT, **OFFLINE).code == 0

    again = envdoctor("fix", *words, "--yes", *SELECT, **OFFLINE)
    assert again.code == 0
    assert "Nothing to change" in again.err

    assert "alpha" in envdoctor("undo", "--env", world.environment, "--list").out
    undone = envdoctor("undo", "--env", world.environment)
    assert undone.code == 0, undone.err
    assert snapshot(world.environment) == before


def test_what_is_newer_than_the_lock_is_shown_apart_and_kept_when_asked(target: tuple[World, Path]) -> None:
    world, path = target
    newer = make_wheel(world.wheels, "alpha", "3.0", {"alpha/__init__.py": "version = '3.0'\n"})
    install(world.environment, world.wheels, newer)
    words = ("--target", path, "--env", world.environment, *SELECT)

    plan = envdoctor("fix", *words, "--dry-run", "--format", "json", **OFFLINE)
    order = [plan.err.index(text) for text in ("1.0 → 2.0", "Back to the lock", "3.0 → 2.0")]
    assert order == sorted(order), plan.err
    packages = json.loads(plan.out)["change"]["packages"]
    assert {(p["name"], p["downgrade"]) for p in packages} == {("alpha", True), ("beta", False)}

    fixed = envdoctor("fix", *words, "--yes", "--keep-newer", **OFFLINE)
    assert fixed.code == 0, fixed.err
    assert (world.version("alpha"), world.version("beta")) == ("3.0", "2.0")
    again = envdoctor("fix", *words, "--yes", "--keep-newer", **OFFLINE)
    assert "Nothing to change" in again.err, again.err


def test_fix_creates_what_does_not_exist(target: tuple[World, Path], tmp_path: Path) -> None:
    _, path = target
    new = tmp_path / "new environment"
    outcome = envdoctor("fix", "--target", path, "--env", new, "--yes", "--select", "packages", **OFFLINE)
    assert outcome.code == 0, outcome.err
    done = process.run([new / "bin" / "python", "-c", "import alpha, beta; print(alpha.version)"], deadline=30)
    assert done.out.strip() == "2.0", done.err
    assert f"Use it: . '{new}/bin/activate'" in outcome.err
    undone = envdoctor("undo", "--env", new)
    assert "nothing to undo" in undone.err
    assert "made with 2 packages" in undone.err


def test_a_plan_for_a_new_environment_is_about_that_one_alone(target: tuple[World, Path], tmp_path: Path) -> None:
    """The Python it is made from is examined too, and has packages of its own, which nobody asked about."""
    _, path = target
    new = tmp_path / "new"
    outcome = envdoctor("fix", "--target", path, "--env", new, "--dry-run", "--format", "json", **OFFLINE)
    change = json.loads(outcome.out)["change"]
    assert {(p["name"], p["before"], p["after"]) for p in change["packages"]} >= {("alpha", None, "2.0")}
    assert change["kept"] == []
    assert change["variables"] == {"OMP_WAIT_POLICY": "passive"}
    assert "variable OMP_WAIT_POLICY = passive (startup hook)" in outcome.err
    assert "outside the lock" not in outcome.err
    assert "Nothing was changed" in outcome.err
    assert not new.exists()


def test_what_a_change_cannot_mend_is_said(target: tuple[World, Path]) -> None:
    """The exit code 1 needs a reason, and the way to it, in terms of the environment and not of its clone."""
    world, path = target
    words = ("fix", "--target", path, "--env", world.environment, "--yes", "--select", "packages/pinned-versions")
    outcome = envdoctor(*words, "--select", "variables/debug", **OFFLINE, PYTHONMALLOC="debug")
    assert outcome.code == 1, outcome.err
    assert "1 warning left, which a change of the environment does not mend" in outcome.err
    assert f"--env {world.environment}\n" in outcome.err


def test_a_long_path_stays_in_one_line_and_markup_is_text(tmp_path: Path) -> None:
    world = make_world(tmp_path / ("long" * 20), "[red]env")
    path = write_target(world, tmp_path / "locks")
    outcome = envdoctor("fix", "--target", path, "--env", world.environment, "--yes", *SELECT, **OFFLINE)
    assert f"  Undo: envdoctor undo --env '{world.environment}'\n" in outcome.err, outcome.err


def test_a_wheel_that_is_not_there_changes_nothing(target: tuple[World, Path]) -> None:
    world, path = target
    next(world.wheels.glob("beta-2.0-*.whl")).write_bytes(b"not a wheel")
    before = snapshot(world.environment)
    outcome = envdoctor("fix", "--target", path, "--env", world.environment, "--yes", *SELECT, **OFFLINE)
    assert outcome.code == 3
    assert "beta" in outcome.err
    assert "Traceback" not in outcome.err
    assert snapshot(world.environment) == before


def test_undo_without_a_change_says_so(target: tuple[World, Path]) -> None:
    world, _ = target
    outcome = envdoctor("undo", "--env", world.environment)
    assert outcome.code in (2, 3)
    assert "Traceback" not in outcome.err
    assert envdoctor("undo", "--env", world.environment, "--list").code == 0


def test_run_uses_the_environment_and_sets_the_variables(target: tuple[World, Path]) -> None:
    world, path = target
    code = "import os, sys; print(sys.prefix, os.environ['OMP_WAIT_POLICY'])"
    words = ("run", "--env", world.environment, "--target", path, "--", "python", "-c", code)
    outcome = envdoctor(*words, **OFFLINE)
    assert outcome.out.split() == [str(world.environment), "passive"], outcome.err
    assert envdoctor("run", "--env", world.environment, "--target", path, "--", "sh", "-c", "exit 7").code == 7


def test_a_change_that_uv_would_take_back_is_said_before_anybody_agrees(tmp_path: Path) -> None:
    """uv's own lock of a project; an environment of the same name elsewhere hears nothing of it."""
    world = make_world(tmp_path / "world", ".venv")
    target = write_target(world, tmp_path / "locks")
    words = ("fix", "--target", target, "--env", world.environment, "--dry-run", *SELECT)
    assert "uv.lock" not in envdoctor(*words, **OFFLINE).err
    project = world.environment.parent
    (project / "pyproject.toml").write_text('[project]\nname = "mine"\nversion = "1"\nrequires-python = ">=3.10"\n')
    made = process.run(["uv", "lock", "--offline", "--project", str(project)], deadline=60)
    assert made.code == 0, made.err
    said = " ".join(envdoctor(*words, **OFFLINE).err.split())
    assert "uv.lock has 2 of these packages in another version, or not at all: `uv sync`" in said
