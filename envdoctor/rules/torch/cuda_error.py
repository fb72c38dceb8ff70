from envdoctor.knowledge.questions import RUN_ERRORS, messages
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Severity, anywhere, finding, kind_of, rule
from envdoctor.rules.torch import _memory_use, _source_library


@rule(ERROR, expected="no CUDA error")
def cuda_error(facts: Facts) -> Findings:
    """What a CUDA error in the report means.

    Why: CUDA reports errors late and tersely. Some mean a broken GPU, most mean a fault in the script or one of its
    extensions: the environment is not to blame, and the
    finding says so.
    Fix: depends on the error.
    Source: https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html
    """
    for error in RUN_ERRORS if messages.texts(facts) else ():
        said = anywhere(facts, error.pattern)
        if said is None:
            continue
        full = error.meaning == _memory_use.FULL
        asked = _memory_use.refusal(facts, said.string, everywhere=full)
        usually = _memory_use.usual(facts, asked) if full else error.usually
        meaning, remedy = error.meaning, _memory_use.advice(error.advice, facts, asked) if full else error.advice
        run: tuple[str, ...] = ()
        library = _source_library.source_library(said.string) if error.crashed else ""
        if library:
            meaning, usually = meaning.partition("; usually")[0], _source_library.usual(library)
            remedy, run = _source_library.advice(library)
        if asked and asked.instead:
            (meaning, remedy), usually = asked.instead, ""
        check = anywhere(facts, _CHECK) if "device-side assert" in said[0] else None
        if check is not None:
            meaning, usually = f"{meaning} ({check[0].rstrip()})", ""
        if "device-side assert" in said[0] and (classes := _classes(facts)):
            meaning = f"{meaning}; the settings that are shown have {classes}"
            remedy = f"{remedy} {_LABELS}"
        yield finding(
            kind=kind_of(error.kind),
            subject=said[0],
            actual=said[0],
            message=f'"{said[0]}": {meaning}{asked.amounts if asked else ""}.',
            usually=usually,
            fix=remedy,
            run=run,
            who=error.who,
            severity=Severity[error.severity.upper()],
            certain=error.kind != "script-wrong",  # whatever else is found may be why
        )


_LABELS = (
    "Labels must lie from 0 to one less than that number: where the background counts as a class of its own, it is one "
    "more than your classes."
)
_CHECK = Pattern(r"Assertion [`'\"]?.{3,120}? ?[`'\"]? ?failed")
_CLASSES = Pattern(r"(?i)(?:num|n|number)_?(?:of_)?(?:classes|labels)")


def _classes(facts: Facts) -> str | None:
    """How many classes the settings in a report give the model."""
    shown = ((key, value) for key, value in facts.remarks.items() if _CLASSES.fullmatch(key.rpartition(".")[2]))
    return next((f"{key} {value}" for key, value in shown if value.isdigit()), None)
