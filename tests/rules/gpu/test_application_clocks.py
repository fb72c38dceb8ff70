from __future__ import annotations

from envdoctor.rules.gpu.application_clocks import application_clocks
from tests.rules.cuda_machines import brief, gpu, gpus, machine, only
from tests.rules.judging import silent, skipped

LOW = {"sm_clock_application": 1200, "sm_clock_max": 1980}


def test_found() -> None:
    assert brief(application_clocks, machine(gpus=gpus(gpu(0, **LOW)))) == ["note gpu-limited GPU 0"]
    held = gpus(gpu(0, sm_clock=1200, **LOW), under_load=True)
    assert brief(application_clocks, machine(gpus=held)) == ["warning gpu-limited GPU 0"]
    assert "sudo nvidia-smi -i 0 -rac" in only(application_clocks, machine(gpus=held)).remedy.commands


def test_a_base_clock_that_is_boosted_over_proves_nothing() -> None:
    boosted = gpus(gpu(0, sm_clock=1900, **LOW), under_load=True)
    assert brief(application_clocks, machine(gpus=boosted)) == ["note gpu-limited GPU 0"]


def test_healthy() -> None:
    assert silent(application_clocks, machine(gpus=gpus(gpu(0, sm_clock_application=1312, sm_clock_max=1380))))
    assert skipped(application_clocks, machine())
