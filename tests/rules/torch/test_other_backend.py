from __future__ import annotations

from envdoctor.facts.model import Driver, Gpus
from envdoctor.rules.torch.other_backend import other_backend
from tests.rules.cuda_machines import CPU_TARGET, brief, machine, torch
from tests.rules.judging import silent, skipped

ROCM = torch(version="2.9.0+rocm6.4", cuda=None, hip="6.4", cuda_available=False, arch_list=())


def test_found() -> None:
    assert brief(other_backend, machine(torch=ROCM)) == ["error torch-cpu-only torch"]
    assert brief(other_backend, machine(torch=torch(cuda="", xpu="2025.2"))) == ["error torch-cpu-only torch"]


def test_not_found() -> None:
    assert silent(other_backend, machine())
    assert silent(other_backend, machine(torch=ROCM, gpus=Gpus(), driver=Driver(other_accelerators=("AMD MI300X",))))
    assert skipped(other_backend, machine(torch=ROCM), CPU_TARGET)
