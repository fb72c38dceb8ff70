"""Reference probes on the CPU: what a CPU is asked, and that the middle of repetitions is not its best."""

from __future__ import annotations

import torch

from trainer.measure import reference


def test_the_middle_product_is_never_faster_than_the_best() -> None:
    best, middle = reference._products(torch.device("cpu"), torch.float32, 64, 0.05)
    assert 0.0 < middle <= best


def test_a_call_longer_than_its_time_is_still_timed_once() -> None:
    assert len(reference._times(lambda: None, 0.0)) == 1


def test_a_cpu_is_not_asked_for_transfers() -> None:
    found = reference.probe(torch.device("cpu"))
    assert set(found) == {"python_mops", "matmul_fp32_gflops", "matmul_bf16_gflops", "copy_gbs"}
    assert all(value > 0.0 for value in found.values())
