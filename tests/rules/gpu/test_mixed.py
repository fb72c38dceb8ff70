from __future__ import annotations

from envdoctor.rules.gpu.mixed import mixed
from tests.rules.cuda_machines import brief, gpu, gpus, machine, only
from tests.rules.judging import silent

BOX = gpus(gpu(0, "NVIDIA GeForce RTX 3090"), gpu(1, "NVIDIA GeForce RTX 4090"), gpu(2, "NVIDIA GeForce RTX 4090"))


def test_noted() -> None:
    assert brief(mixed, machine(gpus=BOX)) == ["note gpu-limited GPUs"]
    found = only(mixed, machine(gpus=BOX))
    assert found.actual == "1x NVIDIA GeForce RTX 3090, 2x NVIDIA GeForce RTX 4090"
    assert found.remedy.commands == ("export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,2",)


def test_one_kind() -> None:
    assert silent(mixed, machine(gpus=gpus(gpu(0), gpu(1))))
