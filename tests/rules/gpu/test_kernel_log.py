from __future__ import annotations

import pytest

from envdoctor.rules.gpu.kernel_log import kernel_log
from tests.rules.cuda_machines import brief, gpu, gpus, machine, only, pasted
from tests.rules.judging import silent, skipped

AZURE = (48, 56, 57, 58, 62, 64, 65, 68, 69, 73, 74, 79, 80, 81, 92, 119, 120)


@pytest.mark.parametrize("number", AZURE)
def test_hardware(number: int) -> None:
    found = only(kernel_log, machine(gpus=gpus(gpu(1, xid=(number,)))))
    assert found.severity is not None
    assert (found.kind, found.severity.word, found.who) == ("gpu-unhealthy", "error", "host")


@pytest.mark.parametrize("number", [13, 31, 43, 45])
def test_programs(number: int) -> None:
    assert brief(kernel_log, machine(gpus=gpus(gpu(1, xid=(number,))))) == [f"note script-wrong GPU 1, Xid {number}"]


def test_others() -> None:
    assert brief(kernel_log, machine(gpus=gpus(gpu(1, xid=(63, 999))))) == [
        "warning gpu-unhealthy GPU 1, Xid 63",
        "note not-judged GPU 1, Xid 999",
    ]


def test_said_by_a_report() -> None:
    message = "NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', GPU has fallen off the bus."
    assert brief(kernel_log, pasted(message)) == ["error gpu-unhealthy GPU, Xid 79"]


def test_not_found() -> None:
    assert silent(kernel_log, machine())
    assert skipped(kernel_log, pasted())
