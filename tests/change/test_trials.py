"""Folders of trials: whoever clears away what killed ones left lets those be that somebody holds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envdoctor.change import strategy
from envdoctor.change.places import Places, places
from envdoctor.change.trials import clear_trials, trial_folder
from envdoctor.system import temporary


@pytest.fixture
def where(tmp_path: Path) -> Places:
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return places(tmp_path / "env")


def left(where: Places) -> list[str]:
    return [name for name in os.listdir(where.parent) if name.startswith(where.probe_prefix)]


def test_what_is_held_stays_and_what_was_left_goes(where: Places) -> None:
    (where.parent / f"{where.probe_prefix}killed" / "full" / "inner").mkdir(parents=True)
    with trial_folder(where) as folder:
        (folder / "full" / "inner").mkdir(parents=True)
        clear_trials(where)
        assert left(where) == [folder.name]
        assert (folder / "full" / "inner").is_dir()
    assert left(where) == []


def test_a_killed_process_holds_nothing(where: Places) -> None:
    code = f"""
import time
from pathlib import Path
from envdoctor.change.places import places
from envdoctor.change.trials import trial_folder
with trial_folder(places(Path({str(where.environment)!r}))):
    print("held", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        assert maker.stdout.readline() == "held\n"
        clear_trials(where)
        assert len(left(where)) == 1
        maker.send_signal(signal.SIGKILL)
        maker.wait()
    clear_trials(where)
    assert left(where) == []


def test_trials_in_a_storm_of_clearing_say_what_they_say_alone(where: Places) -> None:
    alone = strategy.try_out(where)
    code = f"""
from pathlib import Path
from envdoctor.change.places import places
from envdoctor.change.trials import clear_trials
where = places(Path({str(where.environment)!r}))
print("clearing", flush=True)
while True:
    clear_trials(where)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as clearing:
        assert clearing.stdout is not None
        clearing.stdout.readline()
        try:
            assert {strategy.try_out(where) for _ in range(100)} == {alone}
        finally:
            clearing.kill()
    assert (where.real / "pyvenv.cfg").read_text() == "home = /usr/bin\n"


def test_where_folders_cannot_be_locked_only_old_ones_go(where: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "_take", lambda _: None)
    young, old = (where.parent / f"{where.probe_prefix}{name}" for name in ("young", "old"))
    young.mkdir()
    old.mkdir()
    os.utime(old, (time.time() - 3600, time.time() - 3600))
    clear_trials(where)
    assert left(where) == [young.name]
    with trial_folder(where) as folder:
        assert folder.is_dir()


def test_an_environment_that_moved_is_brought_back(where: Places) -> None:
    """What a file system that breaks rename(2) does: the folder it moves to is empty here."""
    empty = where.parent / "empty"
    empty.mkdir()
    with pytest.raises(strategy.Trouble, match="breaks rename"):
        strategy._refusal(where.real, empty)
    assert (where.real / "pyvenv.cfg").exists()
