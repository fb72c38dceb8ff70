"""What systems, drivers and Python say of themselves has many causes: a row names several, or is a warning at most.

The messages are those of strerror, of cudaGetErrorString, of NCCL's results and of Windows.
"""

from __future__ import annotations

import os

import pytest

from envdoctor.knowledge.errors import ERRORS

_ERRNO = [f"OSError: [Errno {number}] {os.strerror(number)}: 'x'" for number in range(1, 134)]
_CUDA = [
    f"RuntimeError: CUDA error: {said}"
    for said in (
        "invalid argument",
        "out of memory",
        "initialization error",
        "driver shutting down",
        "invalid configuration argument",
        "invalid device function",
        "no CUDA-capable device is detected",
        "invalid device ordinal",
        "device kernel image is invalid",
        "invalid device context",
        "an illegal memory access was encountered",
        "an illegal instruction was encountered",
        "too many resources requested for launch",
        "unspecified launch failure",
        "device-side assert triggered",
        "operation not supported",
        "operation not permitted",
        "unknown error",
        "named symbol not found",
        "invalid resource handle",
        "no kernel image is available for execution on the device",
        "all CUDA-capable devices are busy or unavailable",
        "mapping of buffer object failed",
    )
]
_NCCL = [
    f"NCCL error in: ../x.cpp:1, {said}, NCCL version 2.27.3"
    for said in ("unhandled system error", "unhandled cuda error", "internal error", "invalid usage", "remote error")
]
_WINDOWS = [
    f"OSError: [WinError {number}] {said}"
    for number, said in (
        (2, "The system cannot find the file specified"),
        (5, "Access is denied"),
        (126, 'The specified module could not be found. Error loading "x.dll" or one of its dependencies.'),
        (127, 'The specified procedure could not be found. Error loading "x.dll" or one of its dependencies.'),
        (182, 'The operating system cannot run %1. Error loading "x.dll" or one of its dependencies.'),
        (193, "%1 is not a valid Win32 application"),
        (10054, "An existing connection was forcibly closed by the remote host"),
    )
]
_SIGNALS = [
    f"{said} (core dumped)"
    for said in ("Segmentation fault", "Bus error", "Aborted", "Illegal instruction", "Floating point exception")
]
_SAYS_ALL_ITSELF = {"links"}
"""Subjects of messages that have one meaning: a loop of links."""


@pytest.mark.parametrize("message", [*_ERRNO, *_CUDA, *_NCCL, *_WINDOWS, *_SIGNALS])
def test_one_cause_of_many_is_not_told_as_the_cause(message: str) -> None:
    for row in ERRORS:
        if row.pattern.search(message) is None or row.besides.beside is not None or row.guess:
            continue
        said = f"{row.meaning} {row.usually}"
        several = " or " in said or row.severity == "warning" or row.subject in _SAYS_ALL_ITSELF
        assert several, f"{row.subject}: {said}"
