"""Which rows of the table of errors a report's lines tell of, the likeliest first."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from envdoctor.knowledge.errors import ERRORS, KnownError
from envdoctor.knowledge.questions import messages
from envdoctor.knowledge.state_dicts import lists_tell
from envdoctor.rules.causes import ONLY_SLOW
from envdoctor.rules.packages import _open
from envdoctor.rules.rule import ERROR, WARNING, Facts, Pattern, Severity, error_lines
from envdoctor.values.frozen import frozen


@frozen
class Heard:
    """A row, and where a line says what it is about."""

    row: KnownError
    found: re.Match[str]

    @property
    def severity(self) -> Severity:
        """A warning where no failure is proved: what a guess of these kinds means would explain no error."""
        guess = self.row.guess and self.row.kind not in ONLY_SLOW
        unproved = self.row.alone or guess or messages.is_log_line(self.found.string)
        return min(Severity[self.row.severity.upper()], WARNING if unproved else ERROR)

    @property
    def ends_a_run(self) -> bool:
        """Does the row name a cause of its own? A warning beside an error is none of it."""
        return not self.row.last and not self.row.alone and self.row.severity == "error"


def rows(facts: Facts) -> Iterator[Heard]:
    lines = error_lines(facts)
    everything, at_once = messages.everything(facts), "\n".join(lines)
    mended = any(_MENDED.search(line) for line in everything)
    possible = (row for row in ERRORS if row.pattern.may_match(at_once))
    heard = [
        Heard(row=row, found=found) for row in possible if (found := _first(row, lines, everything, mended)) is not None
    ]
    heard.sort(key=lambda each: each.row.guess or each.row.severity == "warning")  # what is sure speaks for its subject
    if mended:
        heard = _without_mended(heard, lines)
    for each in heard:
        row, line = each.row, each.found.string
        if row.last and (any(other.ends_a_run for other in heard) or _open.is_told_apart(line)):
            continue
        if row.alone and any(not other.row.alone for other in heard):
            continue
        if row.weak and row.subject == "the checkpoint" and lists_tell(lines):
            continue
        yield each


_MENDED = Pattern(r"(?i)\b(?:fixed|solved|resolved|got past) (?:that|it|this|them) (?:by|with|via)\b")
"""A person tells of errors one after the other, each of which was mended: the last one stands."""


def _without_mended(heard: Sequence[Heard], lines: Sequence[str]) -> list[Heard]:
    """Of packages that were missing, the one that is told of last."""
    missing = [lines.index(each.found.string) for each in heard if each.row.kind == "package-missing"]
    last = max(missing, default=-1)
    return [each for each in heard if each.row.kind != "package-missing" or lines.index(each.found.string) == last]


def _first(row: KnownError, lines: Iterable[str], everything: Collection[str], mended: bool) -> re.Match[str] | None:
    matches = (match for line in lines if (match := row.match(line)))
    found = next(matches, None)
    if found is None:
        return None
    if row.kind == "package-missing" and mended:
        found = [found, *matches][-1]
    return found if row.besides.stand(everything) else None
