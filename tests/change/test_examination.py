"""An examination in parts: what is known without torch is judged while torch is waited for."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor import doctor
from envdoctor.errors import Trouble
from envdoctor.facts.environment import locate
from envdoctor.facts.model import Torch
from envdoctor.rules.checkup import CheckOptions
from tests.facts.probe.venvs import Venv

# Waits until a rule has been asked, ten seconds at most, and says in its commit whether one was.
WAITING_TORCH = """
import os, time
waited = 0
while not os.path.exists({asked!r}) and waited < 100:
    time.sleep(0.1)
    waited += 1
__version__ = "2.9.0"
class version:
    cuda = None; debug = False; git_version = "judged" if os.path.exists({asked!r}) else "not judged"
"""
PLUGIN = """
from pathlib import Path
from envdoctor.rules.rule import NOTE, rule

@rule(NOTE, kind="interpreter", subject="s", expected="e")
def asking(facts):
    '''Leaves a trace.'''
    with Path({asked!r}).open("a") as file:
        file.write(type(facts.torch).__name__ + " ")
    yield from ()
"""


@pytest.fixture
def venv(tmp_path: Path) -> Venv:
    return Venv(tmp_path / "env")


@pytest.fixture
def asked(venv: Venv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The trace of a rule, in an environment whose torch waits for it."""
    trace, plugin = tmp_path / "asked", tmp_path / "plugin"
    info = plugin / "asking-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: asking\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[envdoctor.rules]\nasking = asking_rule:asking\n")
    (plugin / "asking_rule.py").write_text(PLUGIN.format(asked=str(trace)))
    monkeypatch.syspath_prepend(str(plugin))
    venv.torch(WAITING_TORCH.format(asked=str(trace)))
    return trace


def test_what_is_known_without_torch_is_judged_while_torch_is_waited_for(venv: Venv, asked: Path) -> None:
    options = CheckOptions(target="none", select=("plugin",))
    told = []
    checkup = doctor.examine(locate(venv.path), options, meanwhile=lambda: told.append(asked.exists()))
    assert isinstance(checkup.facts.torch, Torch)
    assert checkup.facts.torch.git == "judged"
    assert asked.read_text() == "Unavailable Torch ", "and again with what torch has told"
    assert told == [False]


def test_a_name_that_nobody_has_is_told_before_torch_is_waited_for(venv: Venv, asked: Path) -> None:
    for options in (CheckOptions(target="h1000"), CheckOptions(select=("plugins",))):
        with pytest.raises(Trouble, match="there is no"):
            doctor.examine(locate(venv.path), options)
    assert not asked.exists()
