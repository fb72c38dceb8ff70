import re
from typing import NamedTuple, cast

from envdoctor.knowledge.cuda_errors import RUN_ERRORS
from envdoctor.knowledge.messages import texts
from envdoctor.knowledge.questions import anywhere
from envdoctor.rules.rule import ERROR, Facts, Findings, Kind, Pattern, Severity, finding, rule


@rule(ERROR, expected="no CUDA error")
def cuda_error(facts: Facts) -> Findings:
    """What a CUDA error in the report means.

    Why: CUDA reports errors late and tersely. Some mean a broken GPU, most mean a fault in the script or one of its
    extensions: the environment is not to blame, and the
    finding says so.
    Fix: depends on the error.
    Source: https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html
    """
    for error in RUN_ERRORS if texts(facts) else ():
        said = anywhere(facts, error.pattern)
        if said is None:
            continue
        asked = _Asked.read(said.string)
        meaning, remedy = asked.instead if asked and asked.instead else (error.meaning, error.advice)
        if "device-side assert" in said[0] and (classes := _classes(facts)):
            meaning = f"{meaning}; the settings that are shown have {classes}"
            remedy = f"{remedy} {_LABELS}"
        yield finding(
            kind=cast(Kind, error.kind),
            subject=said[0],
            actual=said[0],
            message=f'"{said[0]}": {meaning}{asked.amounts if asked else ""}.',
            fix=remedy,
            who=error.who,
            severity=Severity[error.severity.upper()],
            certain=error.kind != "script-wrong",  # whatever else is found may be why
        )


_LABELS = (
    "Labels must lie from 0 to one less than that number: where the background counts as a class of its own, it is one "
    "more than your classes."
)
_CLASSES = re.compile(r"(?:num|n|number)_?(?:of_)?(?:classes|labels)", re.IGNORECASE)


def _classes(facts: Facts) -> str | None:
    """How many classes the settings in a report give the model."""
    shown = ((key, value) for key, value in facts.remarks.items() if _CLASSES.fullmatch(key.rpartition(".")[2]))
    return next((f"{key} {value}" for key, value in shown if value.isdigit()), None)


_SIZE = r"[\d.]{1,12} [KMG]iB"
_FULL = Pattern(
    rf"Tried to allocate (?P<wanted>{_SIZE}).{{0,120}}?(?P<total>{_SIZE}) total capacity"
    rf"(?:.{{0,80}}?(?P<free>{_SIZE}) free)?"
    rf"|Tried to allocate (?P<asked>{_SIZE}).{{0,60}}?total capaci?ty of (?P<whole>{_SIZE})"
    rf"(?: of which (?P<left>{_SIZE}) is free)?"
)
_UNITS = {"KiB": 2.0**-20, "MiB": 2.0**-10, "GiB": 1.0}
_SPARE = 1.0
"""GiB that must have been free beyond what was asked: the allocator asks the driver for whole blocks, and another
process may have come and gone between the refusal and the count."""


class _Asked(NamedTuple):
    """What the allocator says that it asked for, of how much, and how much of it was free."""

    wanted: str
    total: str
    free: str | None

    @classmethod
    def read(cls, text: str) -> "_Asked | None":
        found = _FULL.search(text)
        if found is None:
            return None
        return cls(found["wanted"] or found["asked"], found["total"] or found["whole"], found["free"] or found["left"])

    @property
    def amounts(self) -> str:
        if self.refused:
            return f": {self.wanted} were refused while {self.free} of {self.total} were free"
        return f": {self.wanted} more do not fit into {self.total}"

    @property
    def refused(self) -> bool:
        return self.free is not None and _gib(self.free) >= _gib(self.wanted) + _SPARE

    @property
    def instead(self) -> tuple[str, str] | None:
        """What it means where the memory is not full at all, and what helps then: smaller batches do not."""
        if self.refused:
            return (
                "the GPU's memory is not full by its own count, and was refused all the same",
                "Something else limits it: under Windows and WSL the memory of the machine and its page file "
                "(.wslconfig: memory=), a limit that the process was given (set_per_process_memory_fraction, "
                "a vGPU, ulimit -v), or another process that filled the GPU for a moment. Look at nvidia-smi and "
                "free -h while it starts.",
            )
        if _gib(self.wanted) > _gib(self.total):
            return (
                "one single tensor is larger than the whole GPU",
                "No setting of memory helps: see in the traceback which operator asks for it, and look at the shapes "
                "that it is given (a wrong resolution, length or index, attention over a whole sequence).",
            )
        return None


def _gib(size: str) -> float:
    number, _, unit = size.partition(" ")
    return float(number.rstrip(".")) * _UNITS[unit]
