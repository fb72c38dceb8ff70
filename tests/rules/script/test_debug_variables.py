import pytest

from envdoctor.facts.model import Facts, Torch
from envdoctor.rules.rule import Severity
from envdoctor.rules.script.debug_variables import debug_variables
from tests.rules.judging import findings, silent, skipped
from tests.rules.script.scripts import facts, found


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ('import os\nos.environ["CUDA_LAUNCH_BLOCKING"] = "1"\n', "python"),
        ('import os as o\n\no.environ.setdefault("CUDA_LAUNCH_BLOCKING", "1")\n', "python"),
        ('from os import environ\nenviron["CUDA_LAUNCH_BLOCKING"] = str(1)\n', "python"),
        ('import os\nos.environ.update({"CUDA_LAUNCH_BLOCKING": "1"})\n', "python"),
        ("import os\nos.environ.update(CUDA_LAUNCH_BLOCKING='1')\n", "python"),
        ("#!/bin/sh\nexport CUDA_LAUNCH_BLOCKING=1\npython train.py\n", "shell"),
        ("CUDA_LAUNCH_BLOCKING=1 torchrun train.py\n", "shell"),
        ("docker run -e CUDA_LAUNCH_BLOCKING=1 image\n", "shell"),
        ("env:\n  CUDA_LAUNCH_BLOCKING: '1'\n", "yaml"),
        ("environment:\n  - CUDA_LAUNCH_BLOCKING=1\n", "yaml"),
    ],
)
def test_a_debugging_variable_in_the_file(source: str, language: str) -> None:
    (finding,) = found(debug_variables, source, language)
    assert (finding.kind, finding.severity) == ("debug-variable", Severity.WARNING)
    assert finding.subject.startswith("train.py:")
    assert finding.actual == "CUDA_LAUNCH_BLOCKING=1"


def test_it_names_the_line() -> None:
    source = "import os\n\n\nos.environ['NCCL_P2P_DISABLE'] = '1'\n"
    assert found(debug_variables, source)[0].subject == "train.py:4 NCCL_P2P_DISABLE"


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ('import os\nos.environ["CUDA_LAUNCH_BLOCKING"] = "0"\n', "python"),
        ('import os\nos.environ["CUDA_LAUNCH_BLOCKING"] = value\n', "python"),
        ('import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\n', "python"),
        ('# os.environ["CUDA_LAUNCH_BLOCKING"] = "1"\n', "python"),
        ("# export CUDA_LAUNCH_BLOCKING=1\n", "shell"),
        ("echo set CUDA_LAUNCH_BLOCKING to debug\n", "shell"),
    ],
)
def test_clean(source: str, language: str) -> None:
    assert silent(debug_variables, facts(source, language))


def test_on_a_cpu_it_is_a_note() -> None:
    given = facts('import os\nos.environ["CUDA_LAUNCH_BLOCKING"] = "1"\n', gpus=None)
    given = Facts(scripts=given.scripts, torch=Torch(version="2.13.0+cpu", cuda=""))
    assert [finding.severity for finding in findings(debug_variables, given)] == [Severity.NOTE]


def test_without_a_script_it_is_skipped() -> None:
    assert skipped(debug_variables, Facts())
