from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding

RULES = load_rules()
_ASKED = "ERROR: Could not find a version that satisfies the requirement "


def found(text: str) -> Finding | None:
    findings = diagnose(read(text), no_target(), RULES).findings
    return next((one for one in findings if one.rule == "packages/no-such-release"), None)


@pytest.mark.parametrize(
    ("line", "kind", "take", "part"),
    [
        ("spam==1.2 (from versions: 1.1, 1.2.post1, 1.3)", "package-conflict", "1.2.post1", "offer no spam 1.2"),
        (
            "opencv-python==4.5.1 (from versions: 4.4.0.46, 4.5.1.48)",
            "package-conflict",
            "4.5.1.48",
            "offer no opencv-python",
        ),
        ("spam==1.2 (from versions: 2.0, 2.1)", "python-unsupported", "2.0", "The oldest spam"),
        ("spam==3.0 (from versions: 2.0, 2.1)", "python-unsupported", "2.1", "The newest spam"),
        ("torch==2.6.0 (from versions: 2.0.1, 2.2.2)", "python-unsupported", "2.2.2", "Intel"),
        ("spam==2.5 (from versions: 2.4, 2.6)", "package-conflict", "2.6", "offer spam 2.4 and 2.6"),
    ],
)
def test_what_pip_offers_tells_why(line: str, kind: str, take: str, part: str) -> None:
    one = found(_ASKED + line)
    assert one is not None
    assert (one.kind, one.expected) == (kind, take)
    assert part in one.message


@pytest.mark.parametrize(
    "line",
    [
        "spam==1.2 (from versions: none)",
        "torch==1.7.1 (from versions: 2.2.0, 2.3.0)",  # interpreter/unsupported knows the Pythons of it
        "torch==2.6.0+cu118 (from versions: 2.2.0, 2.3.0)",  # another index
        "spam>=3 (from versions: 2.0)",
        "spam==3.0 (from versions: 2.0, 2.",
    ],
)
def test_what_a_list_does_not_tell_is_not_told(line: str) -> None:
    assert found(_ASKED + line) is None


def test_a_python_that_is_too_old_for_torch_is_to_be_replaced() -> None:
    one = found(f"Python 3.8.10\n{_ASKED}torch==2.6.0 (from versions: 2.3.1, 2.4.0, 2.4.1)")
    assert one is not None
    assert "Python 3.8" in one.message
    assert one.remedy.commands[0].startswith("uv venv")


def test_an_extension_of_another_number_is_not_said_to_lack_a_wheel() -> None:
    text = f"{_ASKED}mamba-ssm==2.2 (from versions: 2.1, 2.2.post1)\n"
    text += "ERROR: No matching distribution found for mamba-ssm==2.2"
    diagnosis = diagnose(read(text), no_target(), RULES)
    assert diagnosis.root_cause is not None
    assert diagnosis.root_cause.rule == "packages/no-such-release"
    assert not any(one.kind == "extension-binary-missing" for one in diagnosis.findings)


def test_a_range_that_ends_before_the_first_that_is_offered() -> None:
    one = found(_ASKED + "triton<3,>=2.0.0 (from versions: 0.1.2, 3.2.0, 3.3.0)")
    assert one is not None
    assert one.actual == "3.2.0 and later are offered"
    assert "newer than the releases below 3 have wheels for" in one.message
    assert found(_ASKED + "spam<3,>=2.5 (from versions: 2.0, 2.1)") is None
    assert found(_ASKED + "spam>=3.5 (from versions: 3.2.0)") is None


def test_a_range_between_what_is_offered() -> None:
    one = found(_ASKED + "spam<0.5.0,>=0.4.5 (from versions: 0.1.0, 0.5.0, 0.6.1)")
    assert one is not None
    assert one.actual == "0.1.0 and 0.5.0, none between them"
    assert "too new" not in one.message
    assert "withdrawn or never released" in one.message
    assert found(_ASKED + "spam<0.5.0,>=0.4.5 (from versions: 0.1.0, 0.4.9, 0.6.1)") is None


def test_a_release_is_rather_told_to_take_than_one_of_its_trials() -> None:
    one = found(_ASKED + "spam==0.0.19 (from versions: 0.0.16, 0.0.20.dev539, 0.0.20)")
    assert one is not None
    assert one.remedy.commands == ("python -m pip install 'spam==0.0.20'",)


def test_pytorch_is_no_name_of_a_release() -> None:
    assert found(_ASKED + "pytorch==1.0.1 (from versions: 0.1.2, 1.0.2)") is None


@pytest.mark.parametrize(
    ("asked", "way"),
    [
        ("torch==2.6.0+cu121", "cu124"),
        ("torch==2.6.0+cu128", "torch==2.7.*"),  # no later line of that release
        ("torch==2.0.1+cu121", "torch==2.1.*"),
    ],
)
def test_a_line_for_which_a_release_was_never_built(asked: str, way: str) -> None:
    one = found(f"{_ASKED}{asked} (from versions: 2.3.0, 2.4.0, 2.5.1)")
    assert one is not None
    assert "no index has it" in one.message
    assert way in one.remedy.commands[0]


def test_a_driver_of_cuda_10_does_not_run_its_later_lines() -> None:
    one = found(f"{_ASKED}torch==1.9.0+cu101 (from versions: 1.9.0, 1.9.0+cu102)")
    assert one is not None
    assert "Ask for CUDA 10.2, where the driver is new enough for it" in one.remedy.text
    later = found(f"{_ASKED}torch==2.6.0+cu121 (from versions: 2.5.1)")
    assert later is not None
    assert "which drivers of CUDA 12 run as well" in later.remedy.text


def test_an_index_that_does_not_have_the_release() -> None:
    index = "pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu121\n"
    one = found(f"{index}{_ASKED}torch==2.6.0 (from versions: 2.4.0+cu121, 2.5.1+cu121)\n")
    assert one is not None
    assert "none for CUDA 12.1" in one.message
    told = found("It asks for torch==2.6.0+cu121, pip says No matching distribution found: torch-2.6.0+cpu came.")
    assert told is not None


@pytest.mark.parametrize("asked", ["torch==2.6.0+cu124", "torch==2.6.0.dev1+cu121"])
def test_a_line_that_a_release_has_is_not_denied(asked: str) -> None:
    one = found(f"{_ASKED}{asked} (from versions: none)")
    assert one is None or "no index has it" not in one.message


@pytest.mark.parametrize("asked", ["torch~=2.1.0", "torch<2.2,>=2.0", "torch<=2.1.0,>=2.0"])
def test_a_range_that_ended_before_this_python(asked: str) -> None:
    one = found(f"/v/lib/python3.12/site-packages\n{_ASKED}{asked} (from versions: 2.2.0, 2.2.1, 2.3.1)")
    assert one is not None
    assert one.message.startswith("torch 2.1, the newest of")
    assert "Python 3.8 to 3.11" in one.message
    assert one.remedy.commands == ("uv venv --python 3.11 .venv",)
