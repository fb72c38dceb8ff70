from __future__ import annotations

from dataclasses import replace

from envdoctor.rules.gpu.memory import memory
from tests.rules.cuda_machines import brief, gpu, gpus, machine
from tests.rules.judging import NOTHING, silent, skipped

A100 = replace(NOTHING, name="a100", conditions={"memory": 80})


def test_noted() -> None:
    small = gpus(gpu(0, "NVIDIA A100-SXM4-40GB", memory=40 * 2**30))
    assert brief(memory, machine(gpus=small), A100) == ["note gpu-limited GPU 0"]


def test_healthy() -> None:
    assert silent(memory, machine(gpus=gpus(gpu(0, memory=80 * 2**30))), A100)
    assert silent(memory, machine(gpus=gpus(gpu(0, memory=int(79.2 * 2**30)))), A100)
    assert skipped(memory, machine(gpus=gpus(gpu(0, memory=2**30))))
