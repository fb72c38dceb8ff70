from __future__ import annotations

import pytest

from envdoctor.rules.gpu.temperature import temperature
from tests.rules.cuda_machines import brief, gpu, gpus, machine
from tests.rules.judging import silent, skipped


@pytest.mark.parametrize("now", [84, 88, 95])
def test_found(now: int) -> None:
    facts = machine(gpus=gpus(gpu(0, temperature=now, temperature_slowdown=89)))
    assert brief(temperature, facts) == ["warning gpu-limited GPU 0"]


def test_healthy() -> None:
    assert silent(temperature, machine(gpus=gpus(gpu(0, temperature=83, temperature_slowdown=89))))
    assert skipped(temperature, machine(gpus=gpus(gpu(0, temperature=99))))
