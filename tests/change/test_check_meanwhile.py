"""A check that reads an environment while it is exchanged tells of one state, never of damage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from envdoctor.change.apply import apply
from envdoctor.change.undo import undo
from envdoctor.facts import collect
from envdoctor.facts.environment import locate
from envdoctor.facts.model import Unavailable
from tests.change.conftest import World, quiet
from tests.change.wheels import make_wheel

Verify = Callable[[Path], str | None]


def test_an_environment_that_is_exchanged_meanwhile_is_read_again(world: World, healthy: Verify) -> None:
    apply(world.change(), verify=healthy, progress=quiet)
    with collect.begin(locate(world.environment), torch=False) as collection:
        for child in collection._children.values():
            child.wait = (lambda wait=child.wait: lambda *given: _after(wait, world))()  # type: ignore[method-assign,misc]
        facts = collection.finish()
    assert not isinstance(facts.packages, Unavailable)
    assert facts.packages.version("alpha") == "1.0"
    assert world.version("alpha") == "1.0"


def _after(wait: Callable[[], object], world: World) -> object:
    """The probe has read state 1; before it is believed the environment is state 0."""
    outcome = wait()
    if world.version("alpha") == "2.0":
        undo(world.environment)
    return outcome


def test_checks_in_a_storm_of_undos_find_no_damage(world: World, healthy: Verify) -> None:
    many = [make_wheel(world.wheels, f"many{number}", "1.0") for number in range(30)]
    apply(world.change(install=(*world.new, *many)), verify=healthy, progress=quiet)
    stop = threading.Event()

    def storm() -> None:
        while not stop.is_set():
            for state in (0, 1):
                undo(world.environment, to=state, force=True)

    thread = threading.Thread(target=storm)
    thread.start()
    words = ["check", "--no-torch", "--target", "none", "--select", "packages/damaged", "--format", "json"]
    try:
        for _ in range(15):
            argv = [sys.executable, "-m", "envdoctor", *words, "--env", os.fspath(world.environment)]
            done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
            assert done.returncode in (0, 3), done.stdout + done.stderr
            found = [one for one in json.loads(done.stdout)["findings"] if one["rule"] == "packages/damaged"]
            assert found == []
    finally:
        stop.set()
        thread.join()
