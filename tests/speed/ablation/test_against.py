"""`verify --against`: the verdict of two arms from simulated reports, where the locked arm is kept, and a real run."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from envdoctor import doctor
from envdoctor.commands import verify
from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment, locate
from envdoctor.facts.model import Facts
from envdoctor.launch.trainer import Measure
from envdoctor.locks.target import StackChoice
from envdoctor.rules.checkup import CheckOptions
from envdoctor.speed.ablation import against
from envdoctor.speed.ablation.against import Other, Pairs, locked_folder, time_against
from envdoctor.speed.outcome import Verdict, as_json
from envdoctor.speed.report import Report
from envdoctor.speed.timing import TimingOptions
from tests.change.conftest import install, make_world, write_target
from tests.speed.making import VERSIONS, cpu_report, target, windows

HERE, CLEAN = (Environment(path=Path(name), python=Path(name, "bin", "python")) for name in ("/here", "/clean"))
OTHER = Other(name="./clean", environment=CLEAN)
CPU = replace(target(name="cpu", gpu_names=()), choice=StackChoice(stack="cpu", reason="", digest="b" * 64))
WOBBLE = (0.002, -0.003, 0.001, 0.004, -0.002, 0.0, 0.003, -0.001)


class Machine:
    """Trains nothing: answers reports at given speeds, and remembers who ran."""

    def __init__(self, ours: float, theirs: float, **more: Any) -> None:
        self.speeds, self.more, self.order = {HERE.path: ours, CLEAN.path: theirs}, more, ""

    def run(self, environment: Environment, *_: object, **__: object) -> Report:
        arm = "A" if environment is HERE else "B"
        speed = self.speeds[environment.path] * (1.0 + WOBBLE[len(self.order) % len(WOBBLE)])
        self.order += arm
        return cpu_report(speed, **(self.more if arm == "A" else {}))


def timed(monkeypatch: pytest.MonkeyPatch, machine: Machine, most: int = 32) -> Verdict:
    monkeypatch.setattr(against, "run_variant", machine.run)
    timing = TimingOptions(workload="chat-5m", steps=100)
    return time_against(
        HERE, OTHER, CPU, timing, Pairs(most=most, side_by_side=False), facts=None, progress=lambda text: None
    )


def test_a_slower_environment_is_said_in_one_sentence_with_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(0.87, 1.0, versions={**VERSIONS, "torch": "2.12.0+cpu"})
    found = timed(monkeypatch, machine)
    assert machine.order == "ABBABAAB"
    assert (found.word, found.cause, found.evidence) == ("slower", "stack", "measured")
    assert found.sentence.startswith("this environment is 0.87x as fast as ./clean [0.8")
    assert found.sentence.endswith("]: slower")
    assert any("torch 2.12.0+cpu instead of 2.13.0+cpu" in reason for reason in found.reasons)
    data = as_json(found)
    assert data["ratio"] == pytest.approx(0.87, rel=0.01)
    assert data["interval"][0] < data["ratio"] < data["interval"][1] < 1.0
    assert data["baseline"]["source"] == "against ./clean"
    assert data["baseline"]["evidence"] == "measured"
    assert len(data["baseline"]["windows"]) == len(data["windows"]) == 4
    assert data["cost"]["seconds"] > 0.0


def test_equal_environments_are_as_expected_with_a_resolution(monkeypatch: pytest.MonkeyPatch) -> None:
    found = timed(monkeypatch, Machine(1.0, 1.0))
    assert (found.word, found.cause) == ("as-expected", None)
    assert found.sentence.endswith("]: as expected")
    assert found.resolution is not None
    assert found.resolution < 0.05
    assert "versions and settings that change speed are those of ./clean" in found.reasons


def test_a_faster_one_has_no_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    found = timed(monkeypatch, Machine(1.4, 1.0, versions={**VERSIONS, "torch": "2.14.0+cpu"}))
    assert (found.word, found.cause) == ("faster", None)
    assert "1.40x as fast" in found.sentence
    assert any("torch 2.14.0" in reason for reason in found.reasons)


def test_other_settings_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = timed(monkeypatch, Machine(0.5, 1.0, settings={"precision": "bfloat16", "attention": "documents"}))
    assert (found.word, found.cause) == ("slower", "settings")
    assert any("precision bfloat16 instead of float32" in reason for reason in found.reasons)


def test_a_training_that_fails_says_whose(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(1.0, 1.0, windows=(), outcome="failed", error={"message": "no kernel image"})
    with pytest.raises(Trouble, match="no kernel image") as raised:
        timed(monkeypatch, machine)
    assert raised.value.file == str(HERE.path)
    assert raised.value.exit_code == 3


def test_what_is_noisy_to_the_end_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = iter([1.0, 3.0, 1.0, 3.0] * 10)

    def run(*_: object, **__: object) -> Report:
        return cpu_report(windows=windows(next(rates)))

    monkeypatch.setattr(against, "run_variant", run)
    found = time_against(
        HERE,
        OTHER,
        CPU,
        TimingOptions(workload="chat-5m"),
        Pairs(most=5, side_by_side=False),
        facts=None,
        progress=lambda text: None,
    )
    assert found.word == "unstable"
    assert found.sentence.endswith(": cannot tell")


def test_the_locked_arm_is_kept_by_lock_and_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = locked_folder("cu130", "a" * 64, "3.11.7")
    assert first == tmp_path / "envdoctor" / "locked" / f"cu130-py3.11-{'a' * 16}"
    assert first == locked_folder("cu130", "a" * 64, "3.11.9")
    assert len({first, locked_folder("cu130", "b" * 64, "3.11.7"), locked_folder("cu130", "a" * 64, "3.12.1")}) == 3


class Asked:
    """Somebody who answers ``yes`` to what is proposed, and remembers how often he was asked."""

    def __init__(self, yes: bool = True) -> None:
        self.yes, self.asked = yes, 0

    def step(self, text: str) -> None: ...

    def tell(self, text: str) -> None: ...

    def agree(self, proposal: object) -> bool:
        self.asked += 1
        return self.yes

    def stopping(self, text: str) -> AbstractContextManager[None]:
        return nullcontext()


def test_the_locked_arm_is_made_once_with_a_yes_and_mended_when_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For real: an environment with old packages, and a small lock with newer ones beside it; no network."""
    for name, value in {"UV_OFFLINE": "1", "PIP_NO_INDEX": "1", "XDG_STATE_HOME": str(tmp_path / "state")}.items():
        monkeypatch.setenv(name, value)
    world = make_world(tmp_path / "world", "env")
    options = CheckOptions(target=str(write_target(world, tmp_path / "locks")), torch=False, select=("packages",))
    environment, user = locate(world.environment), Asked()
    dialogue: Any = user
    known = doctor.target_for(environment, options)
    refusing: Any = Asked(yes=False)
    with pytest.raises(Trouble, match="no locked environment"):
        doctor.locked_arm(environment, known, options, refusing)
    made = doctor.locked_arm(environment, known, options, dialogue)
    assert (user.asked, made.name) == (1, "the locked one")
    assert known.target.choice is not None
    assert made.lock == known.target.choice.digest
    assert made.environment.path.parent == tmp_path / "state" / "envdoctor" / "locked"
    assert (world.version("alpha", made.environment.path), world.version("alpha")) == ("2.0", "1.0")
    assert doctor.locked_arm(environment, known, options, dialogue).environment.path == made.environment.path
    assert user.asked == 1
    install(made.environment.path, world.wheels, *world.old)
    doctor.locked_arm(environment, known, options, dialogue)
    assert user.asked == 2
    assert world.version("alpha", made.environment.path) == "2.0"


def test_without_a_stack_there_is_no_locked_arm() -> None:
    known: Any = SimpleNamespace(target=replace(CPU, choice=None, no_choice="no stack for 3.8"), facts=Facts())
    dialogue: Any = Asked()
    with pytest.raises(Trouble, match=r"no stack for 3\.8"):
        doctor.locked_arm(HERE, known, CheckOptions(), dialogue)


def test_two_questions_at_once_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="different questions"):
        CliRunner().invoke(
            verify.command, ["--against", "locked", "--why"], standalone_mode=False, catch_exceptions=False
        )
    with pytest.raises(Trouble, match="no such environment"):
        CliRunner().invoke(
            verify.command,
            ["--against", str(tmp_path / "none"), "--env", sys.prefix],
            standalone_mode=False,
            catch_exceptions=False,
        )


@pytest.mark.slow
def test_an_environment_against_itself_for_real(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Eight real trainings; on a busy machine they may say nothing, but never that it is slower than itself by half."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    environment = locate(Path(sys.prefix))
    short = Measure(windows=6, window_seconds=0.2, max_warmup_seconds=3.0, probes=False)
    timing = TimingOptions(workload="chat-5m", settings={"tokens_per_row": 384, "over_long": "skip"})

    steps: list[str] = []
    dialogue: Any = SimpleNamespace(step=steps.append)
    found = doctor.verify_against(
        environment,
        Other(name="itself", environment=environment),
        CheckOptions(target="cpu"),
        timing,
        Pairs(most=4, measure=short),
        dialogue,
    )
    assert [text.split(":")[0] for text in steps[1:]] == [f"pair {n + 1} of at most 4" for n in range(4)]
    assert found.comparison is not None
    low, high = found.comparison.interval
    assert low < found.comparison.ratio < high
    assert 0.5 < found.comparison.ratio < 2.0
    assert (len(found.reports), found.comparison.processes) == (4, 4)
    assert json.dumps(as_json(found))
    assert found.baseline is not None
    assert found.baseline.source == "against itself"
