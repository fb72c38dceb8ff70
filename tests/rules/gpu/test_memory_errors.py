from __future__ import annotations

from typing import Any

import pytest

from envdoctor.rules.gpu.memory_errors import memory_errors
from tests.rules.cuda_machines import brief, gpu, gpus, machine, only
from tests.rules.judging import silent, skipped


@pytest.mark.parametrize(
    ("values", "severity", "words"),
    [
        ({"ecc_uncorrected": 1}, "error", "1 uncorrected memory error since"),
        ({"ecc_uncorrected": 3, "rows_pending": True}, "error", "3 uncorrected memory errors"),
        ({"rows_failed": True, "ecc_uncorrected": 3}, "error", "could not be replaced"),
        ({"rows_pending": True}, "warning", "a row waits"),
        ({"retired_pending": True}, "warning", "a page waits"),
    ],
)
def test_found(values: dict[str, Any], severity: str, words: str) -> None:
    facts = machine(gpus=gpus(gpu(5, **values)))
    assert brief(memory_errors, facts) == [f"{severity} gpu-unhealthy GPU 5"]
    found = only(memory_errors, facts)
    assert words in found.message
    assert found.who == "host"


def test_healthy() -> None:
    well = {"ecc_uncorrected": 0, "rows_pending": False, "rows_failed": False, "retired_pending": False}
    assert silent(memory_errors, machine(gpus=gpus(gpu(0, **well))))
    assert skipped(memory_errors, machine())
