from collections.abc import Iterable
from typing import cast

from envdoctor.knowledge.slowness import Situation
from envdoctor.rules.rule import Findings, Kind, finding


def guesses(complaint: str, situations: Iterable[Situation], first: str = "") -> Findings:
    """What stands beside a person's complaint tells where the fault of such runs lies most often: a guess for each.

    ``first``: what the text itself shows, and is to be looked at before all else.
    """
    for situation in situations:
        yield finding(
            kind=cast(Kind, situation.kind),
            subject=situation.name,
            actual=complaint[:300],
            certain=False,
            message=f"Most often in such runs {situation.meaning}: {complaint[:300]}",
            fix=f"{first} {situation.remedy}".strip(),
            run=situation.commands,
            source=situation.source,
        )
