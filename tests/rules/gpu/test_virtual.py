from __future__ import annotations

import pytest

from envdoctor.rules.gpu.virtual import virtual
from tests.rules.cuda_machines import brief, gpu, gpus, machine, only
from tests.rules.judging import silent


@pytest.mark.parametrize("name", ["GRID A100-10C", "NVIDIA A40-48Q", "GRID T4-16C"])
def test_shares(name: str) -> None:
    assert brief(virtual, machine(gpus=gpus(gpu(0, name)))) == ["note gpu-limited GPU 0"]
    assert only(virtual, machine(gpus=gpus(gpu(0, name)))).actual == "vGPU"


def test_handed_through() -> None:
    assert "virtual machine" in only(virtual, machine(gpus=gpus(gpu(0, virtual=True)))).message


@pytest.mark.parametrize("name", ["NVIDIA H100 80GB HBM3", "Tesla T4", "NVIDIA A100-SXM4-80GB", "NVIDIA RTX A6000"])
def test_whole_cards(name: str) -> None:
    assert silent(virtual, machine(gpus=gpus(gpu(0, name, virtual=False))))
