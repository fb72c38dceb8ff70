from __future__ import annotations

import pytest

from envdoctor.rules.driver.nvidia_smi import nvidia_smi
from tests.rules.cuda_machines import brief, driver, machine
from tests.rules.judging import silent, skipped


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "Unable to determine the device handle for GPU0: 0000:41:00.0: GPU is lost.",
            "error gpu-unhealthy nvidia-smi",
        ),
        ("No devices were found", "error gpu-not-visible nvidia-smi"),
        ("Segmentation fault", "warning gpu-not-visible nvidia-smi"),
    ],
)
def test_found(said: str, expected: str) -> None:
    assert brief(nvidia_smi, machine(driver=driver(smi=said))) == [expected]


@pytest.mark.parametrize(
    "said",
    [
        "",
        "nvidia-smi: command not found",
        "Failed to initialize NVML: Driver/library version mismatch",  # has a rule of its own
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    ],
)
def test_not_found(said: str) -> None:
    assert silent(nvidia_smi, machine(driver=driver(smi=said)))


def test_not_judged() -> None:
    assert skipped(nvidia_smi, machine(driver=driver(smi=None)))
