from __future__ import annotations

import pytest

from envdoctor.rules.torch.cuda_error import cuda_error
from tests.rules.cuda_machines import brief, machine, only, pasted
from tests.rules.judging import silent


@pytest.mark.parametrize(
    ("message", "severity", "kind"),
    [
        ("CUDA error: uncorrectable ECC error encountered", "error", "gpu-unhealthy"),
        ("Unable to determine the device handle for GPU 0000:41:00.0", "error", "gpu-unhealthy"),
        ("CUDA error: the provided PTX was compiled with an unsupported toolchain.", "error", "nvcc-mismatch"),
        ("CUDA error: device-side assert triggered", "note", "script-wrong"),
        ("CUDA error: an illegal memory access was encountered", "note", "script-wrong"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "note", "script-wrong"),
        ("Cannot re-initialize CUDA in forked subprocess", "note", "script-wrong"),
        ("CUDA error: the launch timed out and was terminated", "note", "gpu-limited"),
    ],
)
def test_classified(message: str, severity: str, kind: str) -> None:
    found = only(cuda_error, pasted(message))
    assert found.severity is not None
    assert (found.severity.word, found.kind) == (severity, kind)
    assert found.actual in message


def test_not_found() -> None:
    assert silent(cuda_error, machine())
    assert silent(cuda_error, pasted("RuntimeError: shape '[2, 3]' is invalid for input of size 5"))


def test_a_broken_card_is_the_hosts() -> None:
    assert only(cuda_error, pasted("uncorrectable ECC error")).who == "host"
    assert brief(cuda_error, pasted("CUDA out of memory", "device-side assert triggered")) == [
        "note script-wrong CUDA out of memory",
        "note script-wrong device-side assert triggered",
    ]
