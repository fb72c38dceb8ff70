"""What a text shows beside an error: of the usual causes the one that it speaks for is named first, with what speaks
for it, and whose machine it is."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.facts.model import Facts
from envdoctor.knowledge.topics import begins_with, ruled_out, told_topics, topics_of
from envdoctor.knowledge.usual_causes import in_a_row, separate
from envdoctor.rules.finding import USUALLY, Finding
from envdoctor.values.pattern import Pattern

_LEANS = Pattern(
    r"(?:or|because|both|another of|one of the two|beside it|all of them|most of them|they|them|their|that one|these"
    r"|those|the other|on \w+$|\(|which|who|whose|where|is|are|was|were|has|have|had|does|do|lies|comes|came|needs"
    r"|brings|stands)\b|.{0,11}$",
)
"""The start of a cause that is no sentence by itself: it speaks of one before it."""
_IT = Pattern(r"(?:it|its)\b")


def with_the_shown_first(finding: Finding, facts: Facts) -> Finding:
    """The finding with its usual causes in the order of what the text shows, without those that it rules out; as it is
    where that tells nothing."""
    proved, found, usually = finding.message.partition(USUALLY)
    shown = topics_of(facts)
    if not found or not shown:
        return finding
    end = "." if usually.endswith(".") else ""
    causes = _possible(separate(usually.removesuffix(".")), shown)
    topics = [told_topics(cause) & shown for cause in causes]
    own = [mine - frozenset().union(*(topics[:at] + topics[at + 1 :])) for at, mine in enumerate(topics)]
    best = max(range(len(causes)), key=lambda at: (len(own[at]), -at))
    if best and own[best] and not _leans(causes[best], causes[0]):
        first = f"{causes[best]} (the text shows {' and '.join(sorted(own[best]))})"
        causes = [first, *causes[:best], *causes[best + 1 :]]
    return replace(finding, message=f"{proved}{USUALLY}{in_a_row(causes)}{end}")


def of_their_own_machine(finding: Finding, facts: Facts) -> Finding:
    """The finding as one that the person can mend, where the text shows that they may change the machine."""
    shown = topics_of(facts)
    theirs = finding.who == "host" and "sudo" in shown and "a container" not in shown
    return replace(finding, who="you") if theirs else finding


def _possible(causes: list[str], shown: frozenset[str]) -> list[str]:
    """Without those of another system than the text shows; never none."""
    out = ruled_out(shown)
    left = [cause for cause in causes if not begins_with(cause, out, shown)]
    return left if left and not _LEANS.match(left[0]) else causes


def _leans(cause: str, first: str) -> bool:
    return _LEANS.match(cause) is not None or (_IT.match(cause) is not None and _IT.match(first) is None)
