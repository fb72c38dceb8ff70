import re
from typing import cast

from envdoctor.knowledge.cuda_errors import RUN_ERRORS
from envdoctor.knowledge.messages import everything, texts
from envdoctor.knowledge.questions import anywhere
from envdoctor.rules.rule import ERROR, Facts, Findings, Kind, Severity, finding, rule
from envdoctor.rules.torch._allocator import Refusal
from envdoctor.values.pattern import Pattern


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
        meaning, remedy = (
            asked.instead if asked and asked.instead else (error.meaning, _advice(error.advice, asked, facts))
        )
        usually = "" if asked and asked.instead else error.usually
        check = anywhere(facts, _CHECK) if "device-side assert" in said[0] else None
        if check is not None:
            meaning, usually = f"{meaning} ({check[0].rstrip()})", ""
        if "device-side assert" in said[0] and (classes := _classes(facts)):
            meaning = f"{meaning}; the settings that are shown have {classes}"
            remedy = f"{remedy} {_LABELS}"
        yield finding(
            kind=cast(Kind, error.kind),
            subject=said[0],
            actual=said[0],
            message=f'"{said[0]}": {meaning}{asked.amounts if asked else ""}.',
            usually=usually,
            fix=remedy,
            who=error.who,
            severity=Severity[error.severity.upper()],
            certain=error.kind != "script-wrong",  # whatever else is found may be why
        )


_PIECES_FIRST = (
    "Much of it lies in pieces that fit nothing: set PYTORCH_ALLOC_CONF=expandable_segments:True "
    "(PYTORCH_CUDA_ALLOC_CONF before torch 2.9) first."
)
_OTHERS_FIRST = "Look first for other processes on the GPU. Then take "


def _advice(advice: str, asked: Refusal | None, facts: Facts) -> str:
    """Where this process holds nearly all by the error's own numbers, no other one is to be looked for first, nor
    where a run came far before."""
    if _OTHERS_FIRST in advice and any(_AFTER_LONG.search(text) for text in everything(facts)):
        return advice.replace(_OTHERS_FIRST, _GROWS)
    if asked is None or not asked.holds_it_all:
        return advice
    if asked.in_pieces:
        return f"{_PIECES_FIRST} {advice.replace(_OTHERS_FIRST, 'Then take ')}"
    return advice.replace(_OTHERS_FIRST, "Take ")


_GROWS = (
    "It ran before it stopped: see first whether torch.cuda.memory_allocated() grows from step to step or from epoch "
    "to epoch; then something keeps tensors (outputs and losses of a validation, metrics that are not reset): "
    "detach().cpu() what is kept, evaluate under torch.no_grad(). Where it does not grow, take "
)
_AFTER_LONG = Pattern(
    r"memory leak|leakage|(?:for|too) (?:too )?long\b|after (?:\w{1,10} ){0,2}(?:epochs?|steps?|iterations?|hours?)\b"
    r"|for \d+ epochs",
    re.IGNORECASE,
)
"""A person tells that the memory lasted for a while."""
_LABELS = (
    "Labels must lie from 0 to one less than that number: where the background counts as a class of its own, it is one "
    "more than your classes."
)
_CHECK = Pattern(r"Assertion [`'\"]?.{3,120}? ?[`'\"]? ?failed")
_CLASSES = re.compile(r"(?:num|n|number)_?(?:of_)?(?:classes|labels)", re.IGNORECASE)


def _classes(facts: Facts) -> str | None:
    """How many classes the settings in a report give the model."""
    shown = ((key, value) for key, value in facts.remarks.items() if _CLASSES.fullmatch(key.rpartition(".")[2]))
    return next((f"{key} {value}" for key, value in shown if value.isdigit()), None)
