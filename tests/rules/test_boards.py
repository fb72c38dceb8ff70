"""Jetson in a pasted report: its wheels come from elsewhere, and what PyPI's hold proves nothing of them."""

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import Diagnosis, diagnose
from envdoctor.rules.remedies import FOR_JETSON
from envdoctor.rules.rule import Severity

RULES = load_rules()
XFORMERS = """
xFormers was built for:
    PyTorch 2.8.0 with CUDA 1209 (you have 2.8.0)
xFormers can't load C++/CUDA extensions.
"""
VISION = "torch 2.1.0 here\nRuntimeError: operator torchvision::nms does not exist\n"


def judged(text: str) -> Diagnosis:
    return diagnose(read(text), no_target(), RULES)


def test_a_torch_without_label_is_not_pypi_s_on_a_board() -> None:
    found = judged(f"On a Jetson Orin NX all other wheels work.\n{XFORMERS}")
    assert [one.rule for one in found.findings if one.severity is Severity.ERROR] == []
    said = "NVIDIA Orin with CUDA capability sm_87 is not compatible with the current PyTorch installation."
    assert [one.rule for one in judged(f"{said}\nJetson AGX Orin").at_least(Severity.ERROR)] == ["torch/no-kernels"]


@pytest.mark.parametrize(
    "words", ["I use jetson nx with it", "JetPack 6.2 on the board", "Linux 5.15.148-tegra aarch64"]
)
def test_wheels_for_other_machines_are_not_prescribed_on_a_board(words: str) -> None:
    root = judged(f"{words}\n{VISION}").root_cause
    assert root is not None
    assert (root.remedy.text, root.remedy.commands) == (FOR_JETSON, ())


@pytest.mark.parametrize("words", ["on a desktop", "JetPack 7 on the board", "as on a Jetson, but this is x86_64"])
def test_other_machines_keep_their_remedy(words: str) -> None:
    root = judged(f"{words}\n{VISION}").root_cause
    assert root is not None
    assert "torchvision" in root.remedy.commands[0]
