from __future__ import annotations

from envdoctor.facts.model import Host
from envdoctor.rules.gpu.persistence import persistence
from tests.rules.cuda_machines import brief, gpu, gpus, machine, only
from tests.rules.judging import silent, skipped

OFF = gpus(gpu(0, persistence=False), gpu(1, persistence=True), gpu(2, persistence=False))


def test_noted_once() -> None:
    assert brief(persistence, machine(gpus=OFF)) == ["note gpu-limited persistence mode"]
    assert only(persistence, machine(gpus=OFF)).actual == "off on GPU 0, 2"


def test_not_found() -> None:
    assert silent(persistence, machine(gpus=gpus(gpu(0, persistence=True))))
    assert silent(persistence, machine(gpus=OFF, host=Host(system="Windows")))
    assert silent(persistence, machine(gpus=OFF, host=Host(container="wsl2")))
    assert skipped(persistence, machine())
