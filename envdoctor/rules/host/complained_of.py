from collections.abc import Iterator

from envdoctor.knowledge.questions import messages
from envdoctor.knowledge.slowness import COMPLAINTS, OTHERS
from envdoctor.rules.host._situations import guesses
from envdoctor.rules.rule import WARNING, Facts, Findings, Skip, rule


@rule(WARNING, kind="script-wrong")
def complained_of(facts: Facts) -> Findings:
    """A person says that a run stands still, eats memory or gives nonsense, and what stands beside it is known for it.

    Why: such runs print no error. What is told beside the complaint (workers of a loader, several GPUs, fp16) shows
    where the fault lies most often: a guess, and said as one. Where a program says what failed, that comes first.
    Fix: look where it stands or what it keeps: py-spy dump, torch.cuda.memory_allocated(), one run in float32.
    Source: https://docs.pytorch.org/docs/stable/notes/faq.html
    """
    told = tuple(_complaints(facts))
    if not told:
        raise Skip("nobody says that a run stands still, eats memory or gives nonsense, or beside what")
    for complaint, names in told:
        yield from guesses(facts.remarks[f"complaint of {complaint}"], COMPLAINTS.among(names))


def _complaints(facts: Facts) -> Iterator[tuple[str, list[str]]]:
    """Each complaint with the names of what is told beside it, where no program says by itself what failed."""
    failed = [text for text in messages.errors(facts) if text != facts.remarks.get("complaint")]
    for complaint in OTHERS:
        names = facts.remarks.get(f"{complaint} with", "").split("; ")
        full = complaint == "memory" and all("memory" in text.lower() or "kill" in text.lower() for text in failed)
        if names != [""] and (full or not failed):
            yield complaint, names
