"""What people tell of drivers and releases: a guess is a warning, and a remedy is one that this machine may run."""

from __future__ import annotations

import pytest

from envdoctor import doctor
from envdoctor.facts.pasted import read
from envdoctor.rules.checkup import CheckOptions
from envdoctor.rules.diagnose import Diagnosis
from envdoctor.rules.rule import Finding, Severity


def judged(text: str) -> Diagnosis:
    return doctor.judge(read(text), CheckOptions(target="none")).diagnosis


def found(text: str, rule: str) -> Finding:
    return next(one for one in judged(text).findings if one.rule == rule)


GUESSES = [
    "It seems my GPU driver is too old, what should I do?",
    "Maybe the driver of this machine is too old?",
    "My colleague says our NVIDIA driver is simply too old for it.",
]
SHAPES = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x10 and 12x5)\n"


@pytest.mark.parametrize("guess", GUESSES)
def test_a_guess_at_the_driver_is_a_warning_and_no_cause_of_what_a_program_says(guess: str) -> None:
    diagnosis = judged(f"Training stops\n\n{guess}\n\n{SHAPES}")
    driver = next(one for one in diagnosis.findings if one.rule == "torch/driver-too-old")
    assert driver.severity is Severity.WARNING
    assert "cannot run" not in driver.message
    assert diagnosis.root_cause is not None
    assert diagnosis.root_cause.rule == "packages/known-errors"
    assert all(one.symptom_of is None for one in diagnosis.findings)


@pytest.mark.parametrize("guess", GUESSES)
def test_a_driver_that_nobody_names_is_asked_by_the_installer(guess: str) -> None:
    (command,) = found(f"Training stops\n\n{guess}\n", "torch/driver-too-old").remedy.commands
    assert "--torch-backend=auto" in command
    assert "torch==" not in command


def test_torchs_own_words_are_an_error_and_its_number_chooses_the_build() -> None:
    text = "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11040)."
    one = found(f"{text}\ntorch 2.8.0+cu128\n", "torch/driver-too-old")
    assert one.severity is Severity.ERROR
    assert "--torch-backend=cu118" in one.remedy.commands[0]


OLD_CARD = "Found GPU0 GeForce GTX 960M which is of cuda capability 5.0.\nPyTorch no longer supports this GPU\n"


@pytest.mark.parametrize(
    "told",
    [
        "I have installed PyTorch 0.3.1 from conda.\n{}It was working fine with PyTorch 0.3.0.\n",
        "We installed pytorch 0.3.1.\n{}All works with PyTorch 0.3.0, how can I go back to PyTorch 0.3.0?\n",
        "My torch version: 0.3.1\n{}It worked well on torch 0.3.0\n",
    ],
)
def test_the_release_that_worked_is_not_the_one_that_is_blamed(told: str) -> None:
    one = found(told.format(OLD_CARD), "torch/no-kernels")
    assert "0.3.0" not in one.message
    assert one.message.startswith(("torch 0.3.1 holds no code", "torch holds no code"))  # which runs may be uncertain


def test_a_build_is_offered_that_holds_the_card_which_the_warning_names() -> None:
    (command,) = found(OLD_CARD, "torch/no-kernels").remedy.commands
    assert "--torch-backend=cu126" in command  # CUDA 13 has nothing below sm_75


def test_where_any_line_of_such_a_driver_holds_the_card_the_installer_asks_the_driver() -> None:
    text = (
        "UserWarning: NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch "
    )
    one = found(f"{text}installation.\nPyTorch 2.5.1+cu124\n", "torch/no-kernels")
    assert any("--torch-backend=auto" in command for command in one.remedy.commands)


def test_a_card_that_no_build_holds_is_said_to_be_so() -> None:
    one = found("Found GPU0 GeForce GT 610 which is of cuda capability 2.1.\n", "torch/no-kernels")
    assert one.remedy.commands == ()
    assert "None of the torch builds that are known" in one.remedy.text
