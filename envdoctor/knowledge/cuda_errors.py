"""Errors of CUDA that say what is wrong by their words or their number."""

from __future__ import annotations

import functools
import re
from functools import cached_property
from typing import Literal

from envdoctor.knowledge.renting import RELIABLE
from envdoctor.knowledge.table import Rows, bundled_table
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

_AT_START = Pattern(r"(?i)cudaGetDeviceCount|CUDA initialization|Error 101")


def is_of_the_start(line: str) -> bool:
    """Is an invalid ordinal met while CUDA starts? That is the driver's or the device list's; in a run it is the
    launcher's."""
    return _AT_START.search(line) is not None


@frozen
class CudaError:
    """``said`` means ``meaning``, and usually ``usually``; ``who`` can do what helps ("": whoever owns the driver)."""

    said: str
    meaning: str
    remedy: str

    @cached_property
    def pattern(self) -> Pattern:
        return Pattern(self.said, re.IGNORECASE)


@frozen
class StartError(CudaError):
    """CUDA does not initialise, and cuInit answers ``number``."""

    number: int
    usually: str = ""
    commands: tuple[str, ...] = ()
    who: Literal["", "you", "image", "host"] = ""


@frozen
class RunError(CudaError):
    """An error in the middle of a run, of a broken GPU or of the script."""

    kind: str
    usually: str = ""
    severity: Literal["error", "warning"] = "error"
    who: Literal["you", "image", "host"] = "you"
    crashed: bool = False  # a kernel's own code went wrong, whose source a path beside it may name

    @property
    def advice(self) -> str:
        return self.remedy.replace("{reliable}", RELIABLE)


START_ERRORS = Rows(bundled_table("cuda_errors"), "start", StartError, by="meaning")
RUN_ERRORS = Rows(bundled_table("cuda_errors"), "run", RunError, by="meaning")


@functools.cache
def start_error(number: int) -> StartError | None:
    """What cuInit's answer means; None for one that no row has."""
    return {row.number: row for row in START_ERRORS}.get(number)
