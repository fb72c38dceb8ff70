from __future__ import annotations

from envdoctor.rules.gpu.compute_mode import compute_mode
from tests.rules.cuda_machines import brief, gpu, gpus, machine
from tests.rules.judging import silent, skipped


def test_found() -> None:
    assert brief(compute_mode, machine(gpus=gpus(gpu(0, compute_mode="prohibited")))) == [
        "error cuda-init-failed GPU 0"
    ]
    assert brief(compute_mode, machine(gpus=gpus(gpu(0, compute_mode="exclusive-process")))) == [
        "note gpu-limited GPU 0"
    ]


def test_healthy() -> None:
    assert silent(compute_mode, machine(gpus=gpus(gpu(0, compute_mode="default"))))
    assert skipped(compute_mode, machine())
