from __future__ import annotations

import pytest

from envdoctor.locks.target import Target
from envdoctor.rules.gpu.target_mismatch import target_mismatch
from tests.rules.cuda_machines import CPU_TARGET, brief, gpu, gpus, machine, only
from tests.rules.judging import silent, skipped

H100 = Target(name="h100", title="NVIDIA H100", gpu_names=("NVIDIA H100 80GB HBM3",), capability="9.0")


@pytest.mark.parametrize(
    ("name", "severity"),
    [("Tesla T4", "warning"), ("NVIDIA B200", "warning"), ("NVIDIA H200", "note"), ("NVIDIA H100 PCIe", "note")],
)
def test_found(name: str, severity: str) -> None:
    assert brief(target_mismatch, machine(gpus=gpus(gpu(0, name))), H100) == [f"{severity} config-mismatch {name}"]


def test_an_older_card_than_meant_names_the_filter() -> None:
    old = only(target_mismatch, machine(gpus=gpus(gpu(0, "Tesla T4"))), H100)
    assert "compute_cap>=900" in old.remedy.text
    newer = only(target_mismatch, machine(gpus=gpus(gpu(0, "NVIDIA B200"))), H100)
    assert "compute_cap" not in newer.remedy.text


@pytest.mark.parametrize("name", ["NVIDIA H100 80GB HBM3", "H100 SXM5", "NVIDIA Unheard Of"])
def test_healthy(name: str) -> None:
    assert silent(target_mismatch, machine(gpus=gpus(gpu(0, name))), H100)


def test_not_judged() -> None:
    assert skipped(target_mismatch, machine())
    assert skipped(target_mismatch, machine(), CPU_TARGET)
