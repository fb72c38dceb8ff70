from __future__ import annotations

import pytest

from envdoctor.rules.gpu.pcie_link import pcie_link
from tests.rules.cuda_machines import brief, gpu, gpus, machine, only
from tests.rules.judging import silent, skipped


def link(generation: int, width: int, *, of: tuple[int, int] = (4, 16)) -> dict[str, int]:
    return {"pcie_generation": generation, "pcie_width": width, "pcie_generation_max": of[0], "pcie_width_max": of[1]}


@pytest.mark.parametrize(
    ("values", "severity"),
    [
        (link(4, 1), "warning"),
        (link(1, 16), "warning"),
        (link(3, 4), "warning"),
        (link(4, 8), "note"),
        (link(3, 16), "note"),
    ],
)
def test_under_load(values: dict[str, int], severity: str) -> None:
    facts = machine(gpus=gpus(gpu(0, utilization=90, **values), under_load=True))
    assert brief(pcie_link, facts) == [f"{severity} gpu-limited GPU 0"]


def test_at_rest_a_narrow_link_is_noted_and_a_slow_one_is_not() -> None:
    assert brief(pcie_link, machine(gpus=gpus(gpu(0, **link(1, 1))))) == ["note gpu-limited GPU 0"]
    assert silent(pcie_link, machine(gpus=gpus(gpu(0, **link(1, 16)))))


def test_numbers_and_whom_to_ask() -> None:
    found = only(pcie_link, machine(gpus=gpus(gpu(0, utilization=90, **link(4, 1)), under_load=True)))
    assert "at most 2.0 of 31.5 GB/s" in found.message
    assert "pcie_bw>=15.752" in found.remedy.text
    assert (found.actual, found.expected, found.who) == ("PCIe 4 x1", "PCIe 4 x16", "host")


def test_healthy() -> None:
    assert silent(pcie_link, machine(gpus=gpus(gpu(0, utilization=90, **link(4, 16)), under_load=True)))
    assert skipped(pcie_link, machine())
