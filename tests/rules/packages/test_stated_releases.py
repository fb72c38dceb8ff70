"""What a text states of releases decides: a remedy that is there already is none, and what is there is not missing."""

from __future__ import annotations

import pytest

from envdoctor.facts import pasted
from envdoctor.rules.packages.import_mismatch import import_mismatch
from envdoctor.rules.packages.known_errors import known_errors
from envdoctor.rules.packages.known_symptoms import known_symptoms
from envdoctor.rules.packages.reported_conflicts import reported_conflicts
from envdoctor.rules.rule import Finding, Severity
from tests.rules.judging import findings

MISSING = "ModuleNotFoundError: No module named 'torch'"


def of(rule: object, text: str) -> tuple[Finding, ...]:
    return tuple(findings(rule, pasted.read(text)))


def test_a_release_outside_of_what_is_asked_is_the_actual_one() -> None:
    text = "We use trl version 0.11.1 here\nTypeError: DPOTrainer.__init__() got an unexpected keyword argument "
    (found,) = of(known_symptoms, text + "'processing_class'")
    assert (found.actual, found.expected) == ("0.11.1", "trl>=0.12.0,<1")


@pytest.mark.parametrize("version", ["0.11.1", "0.12.2"])
def test_an_argument_that_the_stated_release_has(version: str) -> None:
    text = f"trl {version} is installed\nTypeError: DPOTrainer.__init__() got an unexpected keyword argument 'beta'"
    (found,) = of(known_symptoms, text)
    assert found.severity is Severity.WARNING
    assert "another copy" in found.message
    assert "print(trl.__file__, trl.__version__)" in found.remedy.commands[0]
    assert f"trl=={version}" in found.remedy.commands[1]


def test_a_name_that_the_stated_release_has() -> None:
    text = "my torch is 2.3.1+cu121\nImportError: cannot import name '_ignored_ops' from 'torch.utils.checkpoint'"
    (found,) = of(import_mismatch, text)
    assert "from 2.2.0 on and before 2.5.0, and 2.3.1+cu121 is listed" in found.message


@pytest.mark.parametrize(
    "sign",
    ['  File "<string>", line 17, in <module>\n', "  [end of output]\n", "Getting requirements to build wheel\n"],
)
def test_a_build_does_not_see_what_is_installed(sign: str) -> None:
    text = f"torch                2.5.1+cu124\npip install -r requirements.txt stops:\n{sign}{MISSING}\n"
    (found,) = of(known_errors, text)
    assert found.subject == "build isolation"
    assert "torch is not found by" not in found.message
    assert found.remedy.commands[-1] == "python -m pip install --no-build-isolation -r requirements.txt"


def test_another_python_does_not_either() -> None:
    (found,) = of(known_errors, f"torch                2.5.1+cu124\n{MISSING}\n")
    assert "names torch 2.5.1+cu124" in found.message
    assert not any("install" in command for command in found.remedy.commands)


def test_a_child_that_runs_a_string_builds_nothing() -> None:
    text = "torch 2.5.1 here\nfrom multiprocessing.spawn import spawn_main\n"
    text += f'  File "<string>", line 1, in <module>\n{MISSING}'
    (found,) = of(known_errors, text)
    assert found.subject == "torch"


def test_what_no_text_shows_is_missing() -> None:
    (found,) = of(known_errors, MISSING)
    assert "is not found by" in found.message


def test_a_name_in_an_installed_file_is_not_of_a_cell() -> None:
    text = """\
Traceback (most recent call last):
  File "/env/lib/python3.11/site-packages/somepatch/kernels/rows.py", line 8, in <module>
    def rows(kind: Thing):
NameError: name 'Thing' is not defined
"""
    (found,) = of(known_errors, text)
    assert found.subject == "somepatch"
    assert "cell" not in found.message + found.remedy.text


def test_a_name_in_code_of_ones_own_may_be() -> None:
    text = 'Traceback (most recent call last):\n  File "/home/u/a.py", line 8, in <module>\n'
    text += "NameError: name 'Thing' is not defined\n"
    (found,) = of(known_errors, text)
    assert found.subject == "a name in the source"


def test_headers_are_those_of_the_python_that_is_told() -> None:
    text = "on Python 3.10.11\nRuntimeError: Failed to find CUDA headers\ncuda_utils.c: gcc stopped\n"
    assert any("python3.10-dev" in command for found in of(known_errors, text) for command in found.remedy.commands)


@pytest.mark.parametrize(
    ("said", "tool"),
    [("archlinuxcn/python-tokenizers is too new", "pacman"), ("apt install python3-tokenizers", "apt")],
)
def test_what_a_distribution_brought_is_mended_there(said: str, tool: str) -> None:
    text = f"{said}\nImportError: tokenizers>=0.22.0,<=0.23.0 is required for a normal functioning of this module, but "
    (found,) = of(reported_conflicts, text + "found tokenizers==0.23.1.")
    assert found.actual == "0.23.1"
    assert tool in found.remedy.text
    assert found.remedy.commands[0] == "python3 -m venv .venv"


def test_what_it_did_not_bring_is_not() -> None:
    text = "sudo apt install python3-opencv\nImportError: tokenizers>=0.22.0,<=0.23.0 is required for a normal "
    (found,) = of(reported_conflicts, text + "functioning of this module, but found tokenizers==0.23.1.")
    assert found.remedy.commands == ("python -m pip install 'tokenizers>=0.22.0,<=0.23.0'",)


@pytest.mark.parametrize(
    ("where", "avx"), [("on a Raspberry Pi 4", False), ("on aarch64", False), ("on an old Xeon", True), ("", True)]
)
def test_avx_is_of_no_arm_processor(where: str, avx: bool) -> None:
    (found,) = of(known_errors, f"it stops {where}\nIllegal instruction (core dumped)")
    assert ("AVX" in found.message) is avx
