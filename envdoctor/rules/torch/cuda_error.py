import re
from typing import cast

from envdoctor.knowledge.cuda_errors import RUN_ERRORS
from envdoctor.knowledge.messages import texts
from envdoctor.knowledge.questions import anywhere
from envdoctor.rules.rule import ERROR, Facts, Findings, Kind, Severity, finding, rule
from envdoctor.rules.torch._allocator import Refusal


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
        asked = Refusal.read(said.string)
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
