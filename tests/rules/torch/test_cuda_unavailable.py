from __future__ import annotations

from envdoctor.facts.model import Driver, Gpus
from envdoctor.rules.torch.cuda_unavailable import cuda_unavailable
from tests.rules.cuda_machines import CPU_TARGET, brief, machine, only, torch
from tests.rules.judging import silent, skipped

DOWN = torch(cuda_available=False, cuda_error="CUDA unknown error")


def test_found() -> None:
    assert brief(cuda_unavailable, machine(torch=DOWN)) == ["error cuda-init-failed CUDA"]
    assert "CUDA unknown error" in only(cuda_unavailable, machine(torch=DOWN)).message
    assert only(cuda_unavailable, machine(torch=DOWN, container="docker")).who == "host"


def test_hidden_devices_are_ones_own_doing() -> None:
    found = only(cuda_unavailable, machine(torch=DOWN, container="docker", variables={"CUDA_VISIBLE_DEVICES": ""}))
    assert (found.kind, found.who) == ("gpu-not-visible", "you")


def test_not_found() -> None:
    assert silent(cuda_unavailable, machine())
    assert silent(cuda_unavailable, machine(torch=torch(version="2.15.0+cpu", cuda="", cuda_available=False)))
    assert silent(cuda_unavailable, machine(torch=DOWN, gpus=Gpus(), driver=Driver(kernel_module="")))
    assert skipped(cuda_unavailable, machine(torch=torch(cuda_available=None)))
    assert skipped(cuda_unavailable, machine(torch=DOWN), CPU_TARGET)
