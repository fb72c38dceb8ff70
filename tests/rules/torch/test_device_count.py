from __future__ import annotations

from envdoctor.facts.model import Gpus
from envdoctor.rules.torch.device_count import device_count
from tests.rules.cuda_machines import brief, gpu, gpus, machine, only, torch
from tests.rules.judging import silent, skipped

FOUR = gpus(*(gpu(index) for index in range(4)))
TWO = torch(device_count=2)


def test_found() -> None:
    assert brief(device_count, machine(gpus=FOUR, torch=TWO)) == ["warning gpu-not-visible GPUs"]


def test_on_purpose() -> None:
    meant = machine(gpus=FOUR, torch=TWO, variables={"CUDA_VISIBLE_DEVICES": "0,1"})
    assert brief(device_count, meant) == ["note gpu-not-visible GPUs"]
    cut_off = machine(gpus=FOUR, torch=TWO, variables={"CUDA_VISIBLE_DEVICES": "0,1,9,3"})
    assert brief(device_count, cut_off) == ["warning gpu-not-visible GPUs"]
    assert "CUDA_VISIBLE_DEVICES=0,1,9,3" in only(device_count, cut_off).message
    sliced = machine(gpus=gpus(gpu(0, mig=True), gpu(1, mig=True)), torch=torch(device_count=1))
    assert brief(device_count, sliced) == ["note gpu-not-visible GPUs"]


def test_not_found() -> None:
    assert silent(device_count, machine())
    assert silent(device_count, machine(gpus=FOUR, torch=torch(cuda_available=False, device_count=0)))
    assert silent(device_count, machine(gpus=FOUR, torch=TWO, kind="pasted"))
    assert skipped(device_count, machine(torch=torch(device_count=None)))
    assert skipped(device_count, machine(gpus=Gpus()))
