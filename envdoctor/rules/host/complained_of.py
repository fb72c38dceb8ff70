from envdoctor.knowledge.questions import errors_in
from envdoctor.knowledge.slowness import COMPLAINTS, CRASH, FULL, OTHERS, PLACES, RELEASE
from envdoctor.rules.host._compiled import whose_call
from envdoctor.rules.host._situations import failures, guesses
from envdoctor.rules.rule import WARNING, Facts, Findings, Pattern, Skip, rule


@rule(WARNING, kind="script-wrong")
def complained_of(facts: Facts) -> Findings:
    """A person tells of a trouble that prints no error, and what is known for that.

    Why: such runs print no error. What is told beside the complaint (workers of a loader, several GPUs, fp16) shows
    where the fault lies most often: a guess, and said as one. Where a program says what failed, that comes first.
    Fix: look where it stands or what it keeps: py-spy dump, torch.cuda.memory_allocated(), one run in float32.
    Source: https://docs.pytorch.org/docs/stable/notes/faq.html
    """
    told = _complaints(facts)
    if not told:
        raise Skip("nobody says that a run stands still, eats memory, gives nonsense, or beside what")
    for complaint, names in told:
        first = whose_call(facts) if complaint == CRASH else ""
        yield from guesses(facts.remarks[f"complaint of {complaint}"], COMPLAINTS.among(names), first)


def _complaints(facts: Facts) -> list[tuple[str, list[str]]]:
    """Each complaint with the names of what is told beside it, where no program says by itself what failed."""
    told, failed = [], failures(facts, "complaint")
    for complaint in OTHERS:
        names = facts.remarks.get(f"{complaint} with", "").split("; ")
        full = complaint == "memory" and all("memory" in text.lower() or "kill" in text.lower() for text in failed)
        full |= complaint == "the first GPU's load" and all("memory" in text.lower() for text in failed)
        full |= complaint == FULL and all(_FULL.search(text) for text in failed)
        crashed = complaint == CRASH and all(_CRASHED.search(text) for text in failed)
        if complaint in (RELEASE, *PLACES) and any(_is_told_better(facts, text) for text in facts.messages):
            continue
        if names != [""] and (full or crashed or not failed):
            told.append((complaint, names))
    return told


def _is_told_better(facts: Facts, text: str) -> bool:
    """Does a program tell what a release broke, or why CUDA does not start?"""
    return _PROGRAMS.search(text) is not None or any(errors_in(facts, text))


_PROGRAMS = Pattern(
    r"\w(?:Error|Warning|Exception)\b ?:|WARNING\b|has no attribute|unexpected keyword|cannot import|No module named"
    r"|CUDA initialization|Could not load dynamic library|dlerror"
    r"|sm_\d\d|no kernel image|torch\.cuda\.is_available\(\) is False"
)
_FULL = Pattern(r"(?i)\b(?:oom|(?<!CUDA )out of (?:\w{1,8} )?memory)\b")
"""That memory ran out, and no program's words for it, of which `torch/cuda-error` speaks."""
_CRASHED = Pattern(r"(?i)seg(?:mentation)?[ -]?fault|core dumped|SIGSEGV|exit(?:ed|s)?\b.{0,12}\b(?:139|-11)\b")
"""Of a program: that it crashed, and no more."""
