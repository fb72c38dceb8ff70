"""Which error CUDA meets where it starts: cuInit's own answer, or one whose words or number a report has."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from envdoctor.knowledge.cuda_errors import START_ERRORS, StartError, is_of_the_start, start_error
from envdoctor.knowledge.questions import driver_cuda, driver_owner, hidden_by, lacks_licence, messages, versions
from envdoctor.rules.rule import Facts, Pattern, Who, anywhere, known

_ELSEWHERE = frozenset({35, 100})  # an insufficient driver and no device have rules of their own
_NUMBERED = Pattern(
    r"(?i)(?:cudaGetDeviceCount\(\)\D{0,200}?|CUDA (?:driver (?=error (?:8\d\d|999)\b))?)Error (\d{1,3})\b"
)
_ANY_TIME = frozenset({304, 999})
"""Errors that a run may meet long after CUDA has started, too."""
_STARTS = Pattern(r"(?i)cuInit|cudaGetDeviceCount|initiali[sz]|_lazy_init|is_available|incorrectly set up env")
_NAMELESS = StartError(
    said="(?!)",
    number=0,
    meaning="an error that this tool has no name for",
    remedy="Look into the kernel log; reboot, or rent another machine.",
    commands=("dmesg | grep -i -e nvrm -e xid | tail",),
)


class StartFailure(NamedTuple):
    """CUDA does not start, or a call of it fails: the error, the words that say so, and whose matter it is."""

    error: StartError
    number: int | None
    name: str
    quote: str
    at_start: bool
    who: Who
    hidden: str | None  # the variable that hides the GPUs, where that explains it
    certain: bool


def start_failure(facts: Facts) -> StartFailure | None:
    """The error; None where CUDA starts, nothing tells of it, or rules of their own say why there is no device."""
    driver = known(facts.driver)
    number = driver.cuinit if driver else None
    error, quote, at_start = start_error(number) if number else None, "", True
    if error is None:
        for row in START_ERRORS if messages.texts(facts) else ():
            said = anywhere(facts, row.pattern)
            if said and row.number == 101 and said.string in facts.messages and not is_of_the_start(said.string):
                continue  # a process of the run asked for it: `network/ranks`
            # Between [[ ]] an image of NVIDIA's says why it goes on without forward compatibility, but for the fabric
            if said and ("[[" not in said.string or row.number == 802):
                error, quote = row, said[0]
                at_start = row.number not in _ANY_TIME or _STARTS.search(said.string) is not None
                break
    numbered = anywhere(facts, _NUMBERED) if number in (None, 0) else None
    code = int(numbered[1]) if numbered else 0
    if numbered and error is None and code not in _ELSEWHERE:
        # A number without a row may be one of the run's, as other programs than torch print them.
        error = start_error(code) or (_NAMELESS if "cudaGetDeviceCount" in numbered[0] else None)
        quote = numbered[0] if error else ""
    if error is None and number in (0, None, 100):
        return None  # success, or no device at all: `driver/no-gpu` and `driver/devices` say why
    asked = "cuInit" if number else "error"
    number = number or (code if error is _NAMELESS else error.number if error else None)
    if number == 3 and error is not None:
        error = _of_old_driver(error, driver_cuda(facts))
    return StartFailure(
        error=error or _NAMELESS,
        number=number,
        name=f"{asked} {number}" if number else "cuInit",
        quote=quote,
        at_start=at_start,
        who=(error.who if error else None) or driver_owner(facts),
        hidden=hidden_by(facts) if number == 101 else None,
        certain=not lacks_licence(facts),
    )


def _of_old_driver(error: StartError, offered: str | None) -> StartError:
    """The same error, where the driver runs no CUDA of today's torch."""
    if offered is None or not versions.below(offered, "11.0"):
        return error
    return replace(
        error,
        usually=f"the driver is older than the CUDA that torch is built for (it runs CUDA {offered}, and torch "
        f"from 1.11 on is built for 11.3 and later); else {error.usually}",
        remedy="Update the driver to the newest that the card has, or take a torch built for a CUDA that it runs "
        f"(the number in nvidia-smi's heading is the driver's, whatever is installed besides). Then: {error.remedy}",
        commands=("nvidia-smi", *error.commands),
    )
