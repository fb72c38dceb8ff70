"""What programs say of themselves and of the machine, where no package is to blame."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding, Severity

RULES = load_rules()


def findings(*lines: str) -> list[Finding]:
    shown = diagnose(read("\n".join(lines)), no_target(), RULES).findings
    return [one for one in shown if one.severity is not Severity.NOTE]


def test_a_build_number_that_is_not_known_is_no_missing_git() -> None:
    assert not any(one.subject == "git" for one in findings("-- Git not found. Build info will not be accurate."))
    assert any(one.subject == "git" for one in findings("ERROR: Git not found, cannot clone the repository"))


def test_a_message_that_begins_with_its_advice_is_heard() -> None:
    (found,) = findings("ValueError: Please use LAUNCH_MODE=spawn to start this trainer.")
    assert "Please use LAUNCH_MODE=spawn" in found.remedy.text
    assert found.severity is Severity.WARNING


def test_an_amd_card_that_is_told_of_is_sent_to_no_build_for_cuda() -> None:
    said = ("I use an AMD graphics card on Windows", 'RuntimeError: "Torch is not able to use GPU"')
    (found,) = findings(*said)
    assert found.subject == "an AMD GPU"
    assert not found.remedy.commands
    assert {one.subject for one in findings("My CPU is an AMD Ryzen 9", said[1])} == {"torch"}


@pytest.mark.parametrize("what", ["binaries", "libraries"])
def test_a_container_host_without_driver(what: str) -> None:
    (found,) = findings(f"INFO:    Could not find any NVIDIA {what} on this host!")
    assert (found.subject, found.kind) == ("the host's driver", "gpu-not-visible")


def test_what_weights_only_refuses_asks_for_no_other_torch() -> None:
    (found,) = findings("_pickle.UnpicklingError: Weights only load failed. Unsupported global: GLOBAL mine.Config")
    assert not found.remedy.commands
    assert "add_safe_globals" in found.remedy.text


def test_a_toolkit_of_unknown_release_is_given_no_folder_of_that_name() -> None:
    said = "RuntimeError: Cuda extensions are being compiled with a version of Cuda that does not match the version "
    said += "used to compile Pytorch binaries."
    (bare,) = findings(said)
    assert not bare.remedy.commands
    (named,) = findings(f"{said}  Pytorch binaries were compiled with Cuda 12.1.")
    assert named.remedy.commands == ("export CUDA_HOME=/usr/local/cuda-12.1",)


def test_only_old_shells_of_torch_are_a_python_or_a_pip_without_wheels() -> None:
    said = "ERROR: Could not find a version that satisfies the requirement torch==1.0.0.post9 (from versions: 0.1.2)"
    found = findings(said)
    assert {one.kind for one in found} == {"python-unsupported"}
    assert any("pip is too old" in one.message for one in found)


def test_a_portable_comfyui_with_a_python_of_its_own() -> None:
    said = (
        'File "D:\\ComfyUI-mine\\python\\lib\\site-packages\\bitsandbytes\\cextension.py", line 20, in <module>',
        "RuntimeError: CUDA Setup failed despite GPU being available.",
    )
    commands = [command for one in findings(*said) for command in one.remedy.commands]
    assert commands
    assert all(command.startswith("python\\python.exe -m ") for command in commands)
