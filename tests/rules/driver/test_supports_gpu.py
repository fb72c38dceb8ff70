from __future__ import annotations

import pytest

from envdoctor.facts.model import Driver, Facts, Gpus
from envdoctor.rules.driver.supports_gpu import supports_gpu
from tests.rules.cuda_machines import brief, machine
from tests.rules.judging import silent, skipped


def unseen(module: str, device: str) -> Facts:
    return machine(gpus=Gpus(), driver=Driver(kernel_module=module, pci=(f"0000:01:00.0 10de:{device}",)))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (unseen("590.48.01", "15f8"), "error gpu-not-visible Tesla P100-PCIE-16GB"),
        (unseen("595.45.04", "1db1"), "error gpu-not-visible Tesla V100-SXM2-16GB"),
        (unseen("550.54.15", "2901"), "error driver-too-old NVIDIA B200"),
        (unseen("515.65.01", "2330"), "error driver-too-old NVIDIA H100 80GB HBM3"),
    ],
)
def test_found(facts: Facts, expected: str) -> None:
    assert brief(supports_gpu, facts) == [expected]


def test_not_found() -> None:
    assert silent(supports_gpu, machine())
    assert silent(supports_gpu, unseen("580.65.06", "15f8"))
    assert skipped(supports_gpu, unseen("580.65.06", "ffff"))
    assert skipped(supports_gpu, unseen("", "2330"))
