from __future__ import annotations

from envdoctor.rules.gpu.nvlink import nvlink
from tests.rules.cuda_machines import brief, gpu, gpus, machine, only
from tests.rules.judging import silent, skipped

BOARD = gpus(*(gpu(index, nvlinks=18, nvlinks_down=0) for index in range(7)), gpu(7, nvlinks=17, nvlinks_down=1))


def test_found() -> None:
    assert brief(nvlink, machine(gpus=BOARD)) == ["warning gpu-unhealthy GPU 7"]
    assert only(nvlink, machine(gpus=BOARD)).actual == "17 of 18 links up"


def test_two_bridged_cards_are_noted() -> None:
    pair = gpus(gpu(0, nvlinks=3, nvlinks_down=1))
    assert brief(nvlink, machine(gpus=pair)) == ["note gpu-unhealthy GPU 0"]


def test_not_found() -> None:
    assert silent(nvlink, machine(gpus=gpus(gpu(0, nvlinks=18, nvlinks_down=0))))
    assert silent(nvlink, machine(gpus=gpus(gpu(0, nvlinks=0, nvlinks_down=12))))  # a PCIe card without a bridge
    assert skipped(nvlink, machine())
