from collections.abc import Iterable

from envdoctor.knowledge.questions import messages
from envdoctor.knowledge.slowness import Situation
from envdoctor.rules.rule import Facts, Findings, finding, kind_of


def failures(facts: Facts, *own: str) -> list[str]:
    """What programs say that failed; ``own``: remarks of a person's words, which are taken for a program's at times."""
    told = {facts.remarks.get(remark) for remark in own}
    cut = ("traceback ends in ", messages.CUT_TRACEBACK)  # that something failed, and not what
    return [text for text in messages.errors(facts) if text not in told and not text.startswith(cut)]


def guesses(complaint: str, situations: Iterable[Situation], first: str = "") -> Findings:
    """What stands beside a person's complaint tells where the fault of such runs lies most often: a guess for each.

    ``first``: what the text itself shows, and is to be looked at before all else.
    """
    for situation in situations:
        yield finding(
            kind=kind_of(situation.kind),
            subject=situation.name,
            actual=complaint[:300],
            certain=False,
            fallback=situation.last,
            message=f"Most often in such runs {situation.meaning}: {complaint[:300]}",
            fix=f"{first} {situation.remedy}".strip(),
            run=situation.commands,
            source=situation.source,
        )
