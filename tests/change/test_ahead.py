"""Who said yes beforehand does not wait for torch: the new state is begun while it is being imported."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor import doctor
from envdoctor.change.proposal import ChangeOptions, Proposal
from envdoctor.doctor import Repaired
from envdoctor.errors import Trouble
from envdoctor.facts.environment import locate
from envdoctor.rules.checkup import CheckOptions, Checkup
from tests.change.conftest import World, install, leftovers, snapshot, write_target
from tests.change.test_genuine import SITE, edit_in_place

SLOW_TORCH = """
import os, time
__version__ = "2.0"
with open(os.environ["SLOW_TORCH"], "a") as file:
    file.write("begun\\n")
time.sleep(1)
with open(os.environ["SLOW_TORCH"], "a") as file:
    file.write("done\\n")
"""


class Watching:
    """Says yes, or no for all that; remembers in what order things happened."""

    def __init__(self, torch: Path, answer: bool = True) -> None:
        self.said: list[str] = []
        self.torch, self.answer = torch, answer

    def step(self, text: str) -> None:
        imported = self.torch.exists() and "done" in self.torch.read_text()
        self.said.append(f"{text.split()[0]}{'' if imported else ' before torch'}")

    def tell(self, text: str) -> None: ...
    def checked(self, checkup: Checkup, repaired: Repaired | None) -> None: ...

    def agree(self, proposal: Proposal) -> bool:
        self.step("agree")
        return self.answer

    def stopping(self, text: str) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


@pytest.fixture
def options(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CheckOptions:
    monkeypatch.setenv("SLOW_TORCH", str(tmp_path / "torch"))
    (world.environment / SITE / "torch").mkdir()
    (world.environment / SITE / "torch" / "__init__.py").write_text(SLOW_TORCH)
    return CheckOptions(target=str(write_target(world, tmp_path / "locks")), select=("packages",))


def with_flags(options: CheckOptions) -> None:
    """The target sets something within torch."""
    target = Path(str(options.target))
    target.write_text(target.read_text().replace("[flags]\n", '[flags]\nmatmul_tf32 = "true"\n'))


def test_the_new_state_is_begun_while_torch_is_imported(world: World, options: CheckOptions, tmp_path: Path) -> None:
    with_flags(options)
    dialogue = Watching(tmp_path / "torch")
    repaired = doctor.fix(locate(world.environment), options, ChangeOptions(), dialogue, agreed=True)
    assert repaired.applied is not None
    assert (world.version("alpha"), world.version("beta")) == ("2.0", "2.0")
    assert dialogue.said.index("cloning before torch") < dialogue.said.index("agree")
    assert dialogue.said.index("installing before torch") < dialogue.said.index("agree")
    assert dialogue.said.count("agree") == 1, "with everything that torch told"
    assert repaired.proposal is not None
    assert repaired.proposal.checkup.facts.torch is not None
    assert repaired.proposal.strategy == repaired.applied.strategy


def test_torch_is_imported_once_where_the_target_sets_nothing_within_it(
    world: World, options: CheckOptions, tmp_path: Path
) -> None:
    options = replace(options, ignore=("packages/import-mismatch",))  # which torch of the tests has no attributes for
    dialogue = Watching(tmp_path / "torch")
    repaired = doctor.fix(locate(world.environment), options, ChangeOptions(), dialogue, agreed=True)
    assert (world.version("alpha"), world.version("beta")) == ("2.0", "2.0")
    assert repaired.applied is not None
    assert repaired.checkup.facts.torch is not None
    assert dialogue.said.count("agree before torch") == 1
    assert dialogue.said[-1] == "putting", "after torch was imported in the clone"
    assert (tmp_path / "torch").read_text().count("done") == 1


def sick_with(world: World, *versions: str) -> None:
    """A torch that these releases of alpha keep from being imported."""
    with (world.environment / SITE / "torch" / "__init__.py").open("a") as file:
        file.write(f"import alpha\nif alpha.version in {versions}:\n    raise ImportError('made for another alpha')\n")


def test_a_change_that_breaks_torch_is_not_made(world: World, options: CheckOptions, tmp_path: Path) -> None:
    """Although nobody waited for what torch told before: it is asked of both states then."""
    sick_with(world, "2.0")
    before = snapshot(world.environment)
    with pytest.raises(Trouble, match="torch could be seen before, and cannot be now"):
        doctor.fix(locate(world.environment), options, ChangeOptions(), Watching(tmp_path / "torch"), agreed=True)
    assert snapshot(world.environment) == before
    assert [name for name in leftovers(world.environment) if not name.endswith(".journal")] == []


def test_a_torch_that_failed_before_is_no_reason_not_to_change(
    world: World, options: CheckOptions, tmp_path: Path
) -> None:
    sick_with(world, "1.0", "2.0")
    dialogue = Watching(tmp_path / "torch")
    repaired = doctor.fix(locate(world.environment), options, ChangeOptions(), dialogue, agreed=True)
    assert repaired.applied is not None
    assert (world.version("alpha"), world.version("beta")) == ("2.0", "2.0")
    assert (tmp_path / "torch").read_text().count("done") == 3, "in the clone, in the state before, and in the clone"


def test_without_a_yes_nothing_is_begun(world: World, options: CheckOptions, tmp_path: Path) -> None:
    dialogue = Watching(tmp_path / "torch")
    doctor.fix(locate(world.environment), options, ChangeOptions(), dialogue)
    assert dialogue.said.index("agree") < dialogue.said.index("cloning")


def test_what_was_begun_is_cleared_away_when_something_else_is_wanted(
    world: World, options: CheckOptions, tmp_path: Path
) -> None:
    before = snapshot(world.environment)
    dialogue = Watching(tmp_path / "torch", answer=False)
    repaired = doctor.fix(locate(world.environment), options, ChangeOptions(), dialogue, agreed=True)
    assert "cloning before torch" in dialogue.said
    assert repaired.applied is None
    assert snapshot(world.environment) == before
    assert [name for name in leftovers(world.environment) if not name.endswith(".journal")] == []


@pytest.mark.parametrize("flags", [False, True], ids=["without torch", "beside torch"])
def test_what_cannot_be_installed_is_told_with_its_plan_and_once(
    world: World, options: CheckOptions, tmp_path: Path, flags: bool
) -> None:
    if flags:
        with_flags(options)
    before = snapshot(world.environment)
    for wheel in world.wheels.glob("*-2.0-*"):
        wheel.unlink()
    for wheel in (tmp_path / "locks").rglob("*-2.0-*.whl"):
        wheel.unlink()
    dialogue = Watching(tmp_path / "torch")
    with pytest.raises(Trouble):
        doctor.fix(locate(world.environment), options, ChangeOptions(), dialogue, agreed=True)
    assert len([said for said in dialogue.said if said.startswith("agree")]) == 1
    assert len([said for said in dialogue.said if said.startswith("cloning")]) == 1
    assert snapshot(world.environment) == before


def test_an_interrupted_change_is_cleared_away_before_anything_begins(
    world: World, options: CheckOptions, tmp_path: Path
) -> None:
    environment = locate(world.environment)
    examination = doctor.begin_examination(environment, options)
    assert examination is not None
    with examination:
        doctor.fix(environment, options, ChangeOptions(), Watching(tmp_path / "torch"), examination=examination)
    journal = next(world.environment.parent.glob(".envdoctor-*.journal")) / "journal.json"
    journal.write_text(journal.read_text().replace('"doomed": []', '"doomed": [7]'))
    assert doctor.begin_examination(environment, options) is None


@pytest.mark.parametrize("loads", [False, True], ids=["not loaded", "loaded"])
def test_a_cache_that_was_edited_is_passed_by_and_nothing_of_it_runs(
    world: World, options: CheckOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loads: bool
) -> None:
    """All of it is held against its hashes before anything of the clone runs, loaded by torch or not."""
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    doctor.fix(locate(world.environment), options, ChangeOptions(), Watching(tmp_path / "torch"), agreed=True)
    edit_in_place(world.environment / SITE / "alpha" / "__init__.py", "2.0", "6.6")
    install(world.environment, world.wheels, *world.old)
    (tmp_path / "torch").unlink()
    if loads:
        with (world.environment / SITE / "torch" / "__init__.py").open("a") as file:
            file.write("import alpha\nwith open(os.environ['SLOW_TORCH'], 'a') as file: file.write(alpha.version)\n")
    dialogue = Watching(tmp_path / "torch")
    repaired = doctor.fix(locate(world.environment), options, ChangeOptions(), dialogue, agreed=True)
    assert repaired.applied is not None
    assert (world.version("alpha"), world.version("beta")) == ("2.0", "2.0")
    passed_by = next(place for place, said in enumerate(dialogue.said) if said.startswith("uv's"))
    assert passed_by < dialogue.said.index("checking")
    told = (tmp_path / "torch").read_text()
    assert "6.6" not in told
    assert ("1.0" in told and "2.0" in told) == loads


SIGNAL = """
import os, signal, threading, time
from pathlib import Path
from envdoctor.change import exchange
from envdoctor.change.signals import hold_signals

flushing = threading.Event()

def slow(_):
    flushing.set()
    time.sleep(0.5)

exchange.flush_file_system = slow
taken = []
signal.signal(signal.SIGTERM, lambda number, _: taken.append(number))
exchange.begin_flush(Path())
assert flushing.wait(5)
with hold_signals():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.2)
    assert taken == [], taken
assert taken == [signal.SIGTERM], taken
"""


def test_a_signal_waits_while_a_thread_flushes() -> None:
    """The kernel gives a signal to any thread that takes it, and Python then stops the main one. In a process of its
    own: the runner of these tests has threads that take any."""
    root = Path(doctor.__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", SIGNAL], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
