from __future__ import annotations

from typing import Any

import pytest

from envdoctor.rules.gpu.occupied import occupied
from tests.rules.cuda_machines import brief, gpu, gpus, machine, only
from tests.rules.judging import silent, skipped


@pytest.mark.parametrize(
    ("values", "severity", "who"),
    [
        ({"memory_used": 20 * 2**30}, "warning", "host"),
        ({"memory_used": 20 * 2**30, "processes": 1}, "warning", "you"),
        ({"memory_used": 0, "utilization": 90}, "warning", "host"),
        ({"memory_used": 300 * 2**20, "processes": 2}, "note", "you"),
        ({"memory_used": int(1.5 * 2**30), "memory": 24 * 2**30, "utilization": 12}, "note", "host"),  # a desktop
        ({"memory_used": 8 * 2**30, "memory": 80 * 2**30}, "warning", "host"),
    ],
)
def test_found(values: dict[str, Any], severity: str, who: str) -> None:
    facts = machine(gpus=gpus(gpu(0, **values)))
    assert brief(occupied, facts) == [f"{severity} gpu-limited GPU 0"]
    assert only(occupied, facts).who == who


def test_not_found() -> None:
    assert silent(occupied, machine(gpus=gpus(gpu(0, memory_used=400 * 2**20, utilization=0, processes=0))))
    busy = gpu(0, memory_used=40 * 2**30, utilization=100)
    assert silent(occupied, machine(gpus=gpus(busy, under_load=True)))  # our own measurement
    assert silent(occupied, machine(gpus=gpus(busy), kind="pasted"))
    assert skipped(occupied, machine())
