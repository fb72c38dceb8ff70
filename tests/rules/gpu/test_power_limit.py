from __future__ import annotations

from dataclasses import replace

from envdoctor.rules.gpu.power_limit import power_limit
from tests.rules.cuda_machines import brief, gpu, gpus, machine, only
from tests.rules.judging import NOTHING, silent, skipped

LOWERED = gpus(gpu(0, power_limit=250.0, power_default=450.0))
SXM = replace(NOTHING, name="a100", conditions={"power_limit": 400})


def test_lowered() -> None:
    assert brief(power_limit, machine(gpus=LOWERED)) == ["warning gpu-limited GPU 0"]
    found = only(power_limit, machine(gpus=LOWERED))
    assert (found.actual, found.expected, found.who) == ("250 W", "450 W", "host")
    assert found.remedy.commands == ("sudo nvidia-smi -i 0 -pl 450",)


def test_another_board_than_the_targets_is_noted() -> None:
    board = gpus(gpu(0, "NVIDIA A100 80GB PCIe", power_limit=300.0, power_default=300.0))
    assert brief(power_limit, machine(gpus=board), SXM) == ["note gpu-limited GPU 0"]
    assert silent(power_limit, machine(gpus=board))


def test_laptops_share_their_power() -> None:
    laptop = gpus(gpu(0, "NVIDIA GeForce RTX 3060 Laptop GPU", power_limit=80.0, power_default=115.0))
    assert brief(power_limit, machine(gpus=laptop)) == ["note gpu-limited GPU 0"]


def test_healthy() -> None:
    assert silent(power_limit, machine(gpus=gpus(gpu(0, power_limit=700.0, power_default=700.0))))
    assert silent(power_limit, machine(gpus=gpus(gpu(0, power_limit=698.0, power_default=700.0))))  # rounding
    assert silent(power_limit, machine(gpus=gpus(gpu(0, power_limit=800.0, power_default=700.0))))
    assert skipped(power_limit, machine())
