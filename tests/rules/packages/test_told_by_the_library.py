"""What the place of an error, and what a text says of the program around it, add to a row of the known errors."""

from __future__ import annotations

import pytest

from envdoctor import doctor
from envdoctor.facts.pasted import read
from envdoctor.rules.checkup import CheckOptions
from envdoctor.rules.diagnose import Diagnosis
from envdoctor.rules.finding import Finding

FRAMES = """Traceback (most recent call last):
  File "/home/ada/run.py", line 8, in <module>
    main()
  File "/opt/venv/lib/python3.11/site-packages/{module}.py", line 61, in probe
    major = described().split(".")
AttributeError: 'NoneType' object has no attribute 'split'
"""


def judged(text: str) -> Diagnosis:
    return doctor.judge(read(text), CheckOptions(target="none")).diagnosis


def only(text: str) -> Finding:
    (found,) = judged(text).findings
    return found


def test_an_error_within_a_library_may_be_its_release() -> None:
    found = only(FRAMES.format(module="cpuprobe"))
    assert found.message.partition(" Usually ")[2].startswith("cpuprobe, in whose code it ends, is older or newer")
    assert found.remedy.commands == ("python -m pip install --upgrade cpuprobe",)


def test_a_library_that_takes_whatever_it_is_given_is_not_blamed() -> None:
    assert "in whose code" not in only(FRAMES.format(module="transformers/trainer")).message


NONE_HAS_NO_TO = "AttributeError: 'NoneType' object has no attribute 'to'"


@pytest.mark.parametrize(
    ("line", "blamed"),
    [
        ("self.pipe = Pipeline.from_pretrained(name, use_auth_token=token).to(dev)", True),
        ("self.net = build(name).to(dev)", False),
    ],
)
def test_a_gated_pipeline_is_none(line: str, blamed: bool) -> None:
    assert (only(f"{line}\n{NONE_HAS_NO_TO}").subject == "pyannote's model") is blamed


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("pip install torch fills my RAM and ends with a memory error\nDownloading torch-2.1.0-py3-none-any.whl", True),
        ("training ends with a memory error after two epochs", False),
        ("pip install torch works, then CUDA out of memory. Tried to allocate 2 GiB", False),
    ],
)
def test_memory_that_an_installation_fills(text: str, told: bool) -> None:
    assert any("--no-cache-dir" in one for f in judged(text).findings for one in f.remedy.commands) is told


def test_what_is_installed_after_a_new_environment_goes_into_it() -> None:
    line = "ImportError: cannot import name 'GRPOConfig' from 'trl' (/home/ada/env/lib/python3.8/trl/__init__.py)"
    commands = judged(f"{line}\npython 3.8.18\n").findings[0].remedy.commands
    assert commands[0].startswith("uv venv ")
    assert commands[1].startswith("uv pip install --python .venv ")


@pytest.mark.parametrize(
    "text",
    [
        "The backend is there but not available\ntorch 2.9.1 runs otherwise\n",
        "My second screen of charts is stuck since the update\ntorch==2.9.1\n",
    ],
)
def test_what_somebody_says_does_not_go_is_never_called_healthy(text: str) -> None:
    assert judged(text).outcome in ("unexplained", "findings")
