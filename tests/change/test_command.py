"""What the command line says of a change, and the obstacles that only show with a whole command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.change.conftest import World, fix_words, snapshot, write_target
from tests.commands.test_check import envdoctor


@pytest.fixture
def words(world: World, tmp_path: Path) -> list[str]:
    return fix_words(write_target(world, tmp_path / "locks"), world.environment)


def test_strict_names_what_it_removes(world: World, words: list[str]) -> None:
    plan = envdoctor(*words, "--exact", "--dry-run")
    assert "1 package outside the lock: removed (--exact)" in " ".join(plan.err.split())
    assert "gamma 1.0" in plan.err
    assert world.version("gamma") == "1.0"
    assert envdoctor(*words, "--exact").code == 0
    assert not list(world.environment.rglob("gamma*"))


def test_only_the_plan_that_was_named_is_carried_out(world: World, words: list[str]) -> None:
    dry = json.loads(envdoctor(*words, "--dry-run", "--format", "json").out)
    plan = dry["change"]["plan"]
    refused = envdoctor(*words, "--plan", "0" * 32)
    assert refused.code == 3
    assert f"the plan is now {plan}" in " ".join(refused.err.split())
    assert world.version("alpha") == "1.0"
    assert envdoctor(*words, "--plan", plan).code == 0
    assert world.version("alpha") == "2.0"


def test_the_last_two_states_are_listed_and_reached(world: World, words: list[str], tmp_path: Path) -> None:
    states = [snapshot(world.environment)]
    assert envdoctor(*words).code == 0
    states.append(snapshot(world.environment))
    older = World(environment=world.environment, wheels=world.wheels, old=world.new, new=world.old)
    assert envdoctor(*fix_words(write_target(older, tmp_path / "older"), world.environment)).code == 0
    listed = envdoctor("undo", "--env", world.environment, "--list").out.splitlines()
    assert [line.split()[:2] for line in listed] == [
        ["0", listed[0].split()[1]],
        ["1", listed[1].split()[1]],
        ["*", "2"],
    ]
    assert "as it was found" in listed[0]
    assert "alpha 2.0, beta 2.0" in listed[1]
    assert "alpha 1.0, beta 1.0" in listed[2]
    for number in (1, 0):
        assert envdoctor("undo", "--env", world.environment).code == 0
        assert snapshot(world.environment) == states[number]


def test_a_program_that_runs_from_it_is_named(world: World, words: list[str]) -> None:
    script = world.environment.parent / "train.py"
    script.write_text("print(1, flush=True); input()")
    process = subprocess.Popen([world.environment / "bin" / "python", script, "--token", "secret"], stdin=-1, stdout=-1)
    try:
        assert process.stdout is not None
        process.stdout.read(1)
        refused = envdoctor(*words)
        assert refused.code == 3
        assert f"in use by python train.py (process {process.pid})" in refused.err
        assert "--force" in refused.err
        assert "secret" not in refused.err
        assert world.version("alpha") == "1.0"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("installer", ["uv", pytest.param("pip", marks=pytest.mark.slow)])
def test_a_dead_index_changes_nothing_and_is_named(world: World, words: list[str], installer: str) -> None:
    """Nobody listens on the port: as without any network."""
    before = snapshot(world.environment)
    for wheel in world.wheels.glob("*-2.0-*.whl"):
        wheel.unlink()
    dead = "http://127.0.0.1:9/simple"
    variables = {"UV_DEFAULT_INDEX": dead, "UV_NO_INDEX": "", "UV_HTTP_RETRIES": "0"}
    variables |= {"PIP_INDEX_URL": dead, "PIP_CONFIG_FILE": "/dev/null", "PIP_RETRIES": "1"}
    outcome = envdoctor(*words, "--installer", installer, **variables)
    assert outcome.code == 3
    said = " ".join(outcome.err.split())
    either = ("alpha-2.0-py3-none-any.whl", "beta-2.0-py3-none-any.whl")  # uv asks for both at once
    assert any(wheel in said for wheel in either), said
    assert "the network fails" in said
    assert "Check connection, proxy and index" in said
    assert snapshot(world.environment) == before


@pytest.mark.parametrize("installer", ["uv", pytest.param("pip", marks=pytest.mark.slow)])
def test_another_file_under_the_locked_name_is_refused(world: World, words: list[str], installer: str) -> None:
    before = snapshot(world.environment)
    wheel = world.wheels / "beta-2.0-py3-none-any.whl"
    wheel.write_bytes((world.wheels / "beta-1.0-py3-none-any.whl").read_bytes())
    outcome = envdoctor(*words, "--installer", installer)
    assert outcome.code == 3
    said = " ".join(outcome.err.split())
    assert "beta-2.0-py3-none-any.whl" in said
    assert "sha256 is not the locked one" in said
    assert "Clear the cache" in said
    assert snapshot(world.environment) == before


def test_the_size_of_a_new_environment_is_said_before(world: World, tmp_path: Path) -> None:
    new = tmp_path / "new"
    for target, size in (("h100", " GB of wheels)"), ("cpu", " GB of wheels)")):
        outcome = envdoctor("fix", "--target", target, "--env", new, "--dry-run", "--python", sys.executable)
        assert size in " ".join(outcome.err.split()), outcome.err
        assert not new.exists()
