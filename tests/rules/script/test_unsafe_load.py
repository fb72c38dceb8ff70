import dataclasses

import pytest

from envdoctor.facts.model import Torch
from envdoctor.rules.rule import Severity
from envdoctor.rules.script.unsafe_load import unsafe_load
from tests.rules.judging import findings, silent
from tests.rules.script.scripts import facts, found


@pytest.mark.parametrize("call", ["torch.load('m.pt')", "torch.load('m.pt', weights_only=False)"])
def test_code_may_run(call: str) -> None:
    (finding,) = found(unsafe_load, f"import torch\nx = {call}\n")
    assert (finding.kind, finding.severity) == ("script-wrong", Severity.NOTE)


@pytest.mark.parametrize("version", ["2.6.0+cu124", "2.13.0"])
def test_the_default_is_safe_since_2_6(version: str) -> None:
    given = facts("import torch\ntorch.load('m.pt')\ntorch.load('m.pt', weights_only=False)\n")
    (finding,) = findings(unsafe_load, dataclasses.replace(given, torch=Torch(version=version)))
    assert finding.subject == "train.py:3"


def test_weights_only() -> None:
    assert silent(
        unsafe_load, facts("import torch\ntorch.load('m.pt', weights_only=True)\ntorch.load(p, weights_only=w)\n")
    )
