from __future__ import annotations

from envdoctor.rules.gpu.mig import mig
from tests.rules.cuda_machines import brief, gpu, gpus, machine, only
from tests.rules.judging import silent, skipped


def test_found() -> None:
    assert brief(mig, machine(gpus=gpus(gpu(0, mig=True)))) == ["warning gpu-limited GPU 0"]
    assert brief(mig, machine(gpus=gpus(gpu(0, "NVIDIA H100 80GB HBM3 MIG 1g.10gb")))) == ["warning gpu-limited GPU 0"]
    assert only(mig, machine(gpus=gpus(gpu(2, mig=True)))).remedy.commands == ("sudo nvidia-smi -i 2 -mig 0",)


def test_not_found() -> None:
    assert silent(mig, machine(gpus=gpus(gpu(0, mig=False))))
    assert skipped(mig, machine())


def test_a_slice_that_a_variable_names_was_chosen() -> None:
    facts = machine(gpus=gpus(gpu(0, mig=True)), variables={"NVIDIA_VISIBLE_DEVICES": "MIG-4f0a"})
    assert brief(mig, facts) == ["note gpu-limited GPU 0"]
