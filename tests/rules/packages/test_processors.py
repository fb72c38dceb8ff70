"""GPUs within the processor, and processors that a virtual machine hides."""

from __future__ import annotations

import pytest

from tests.rules.told import root, whole

HIP = "RuntimeError: HIP error: invalid device function"


@pytest.mark.parametrize(
    "line",
    [
        "CPU: AMD Ryzen 5 3400G with Radeon Vega Graphics",
        "AMD Ryzen 7 5700G, RX 6700 XT",
        "Ryzen 9 7950X and an RX 6800",
        "The laptop has an iGPU and an RX 7600M",
        "rocminfo lists AMD Radeon Graphics and the RX 6600 (gfx1032)",
    ],
)
def test_an_integrated_gpu_that_is_told_of_comes_first(line: str) -> None:
    found = root(HIP, line)
    assert "Usually the GPU within the processor" in found.message
    assert "HIP_VISIBLE_DEVICES=" not in whole(found)


@pytest.mark.parametrize("lines", [("RX 6600, gfx1032",), ("AMD Ryzen 5 5600X", "RX 6700 XT"), ("RX 7800 XT",)])
def test_a_card_alone_is_asked_of_itself(lines: tuple[str, ...]) -> None:
    assert "Usually the GPU within the processor" not in root(HIP, *lines).message
    assert "HIP_VISIBLE_DEVICES=0" not in whole(root(HIP, *lines))


def test_a_machine_that_hides_avx_has_a_remedy_of_its_own() -> None:
    found = root("Illegal instruction (core dumped)", "docker run trainer:1 python -c 'import numpy'", "on Proxmox")
    assert "CPU type host" in found.remedy.text
    assert "avx" in found.remedy.commands[0]
