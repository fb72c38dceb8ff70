from __future__ import annotations

from typing import Any

import pytest

from envdoctor.facts.model import Gpus
from envdoctor.rules.gpu.odd_one_out import odd_one_out
from tests.rules.cuda_machines import brief, gpu, machine, only
from tests.rules.judging import silent, skipped

USUAL = {"power_limit": 700.0, "memory": 80 * 2**30, "pcie_width": 16, "nvlinks": 18, "sm_clock": 1900}


def box(under_load: bool = False, **odd: Any) -> Gpus:
    cards = [gpu(index, **USUAL) for index in range(7)] + [gpu(7, **{**USUAL, **odd})]
    return Gpus(devices=tuple(cards), under_load=under_load)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ({"power_limit": 500.0}, "power limit 500 W, the others 700"),
        ({"pcie_width": 8}, "PCIe lanes 8 lanes, the others 16"),
        ({"nvlinks": 12}, "NVLinks 12 links, the others 18"),
    ],
)
def test_found(odd: dict[str, Any], words: str) -> None:
    facts = machine(gpus=box(**odd))
    assert brief(odd_one_out, facts) == ["warning gpu-limited GPU 7"]
    found = only(odd_one_out, facts)
    assert words in found.message
    assert found.remedy.commands == ("export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6",)


def test_clocks_count_only_under_load() -> None:
    assert brief(odd_one_out, machine(gpus=box(under_load=True, sm_clock=1200))) == ["warning gpu-limited GPU 7"]
    assert silent(odd_one_out, machine(gpus=box(sm_clock=345)))


def test_healthy() -> None:
    assert silent(odd_one_out, machine(gpus=box()))
    assert silent(odd_one_out, machine(gpus=box(under_load=True, sm_clock=1830)))  # the usual spread
    assert skipped(odd_one_out, machine(gpus=Gpus(devices=(gpu(0), gpu(1, power_limit=100.0)))))
