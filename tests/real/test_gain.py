"""What a repair has made of the speed: the state before it is timed in turns with the new one."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from envdoctor import doctor
from envdoctor.change.proposal import ChangeOptions
from envdoctor.facts.environment import locate
from envdoctor.rules.checkup import CheckOptions
from envdoctor.speed.timing import TimingOptions
from envdoctor.system import process
from tests.change.conftest import make_world, write_target
from tests.real.environments import run, uv


def test_a_state_before_that_cannot_train_is_said_and_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For real: an exchange of two packages, in environments that hold no torch."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    world, told = make_world(tmp_path / "world", "env"), list[str]()
    dialogue: Any = SimpleNamespace(
        step=lambda text: None, tell=told.append, agree=lambda proposal: True, stopping=lambda text: nullcontext()
    )
    options = CheckOptions(target=str(write_target(world, tmp_path / "locks")), torch=False, select=("packages",))
    assert doctor.earlier_arm(locate(world.environment)) is None
    assert doctor.gain_of(locate(world.environment), options, TimingOptions(), dialogue) is None
    assert told == []
    doctor.fix(locate(world.environment), options, ChangeOptions(), dialogue)
    other = doctor.earlier_arm(locate(world.environment))
    assert other is not None
    assert (world.version("alpha"), world.version("alpha", other.environment.path)) == ("2.0", "1.0")
    assert doctor.gain_of(locate(world.environment), options, TimingOptions(workload="chat-5m"), dialogue) is None
    assert len(told) == 1
    assert told[0].startswith("how fast it was before the fix cannot be said: ")


@pytest.mark.install
def test_preflight_says_what_its_repair_has_made_of_the_speed(tmp_path: Path) -> None:
    """A package of the lock is made older; preflight puts it back, and times both states."""
    environment = tmp_path / "env"
    words = ("--yes", "--target", "cpu", "--env", str(environment))
    run(sys.executable, "-m", "envdoctor", "fix", *words)
    uv(environment, "pip", "install", "--quiet", "--python", environment, "tqdm==4.66.1", folder=tmp_path)
    argv = [sys.executable, "-m", "envdoctor", "preflight", "--fix", *words, "--format", "json"]
    outcome = process.run(argv, deadline=900)
    found = json.loads(outcome.out)
    assert "tqdm" in str(found["change"])
    gain = found["gain"]
    assert gain["conditions"]["sentence"].startswith("fix made it ")
    assert 0.5 < gain["ratio"] < 2.0
    assert gain["interval"][0] <= gain["ratio"] <= gain["interval"][1]
    assert any("tqdm" in reason or "are those of before the fix" in reason for reason in gain["conditions"]["reasons"])
    assert outcome.code in (0, 1)
