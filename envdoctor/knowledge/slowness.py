"""What people say beside a complaint (it is slow, stands still, eats memory, gives nonsense), and what is behind it."""

from __future__ import annotations

import re
from functools import cached_property

from envdoctor.knowledge.besides import Besides
from envdoctor.knowledge.table import Rows, bundled_table
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

SPEED = "speed"
ANY = "where a step loses its time"  # the situation of a run that is slow, where nothing stands beside it
RELEASE = "a release that broke it"
CRASH = "a crash without a word"
FULL = "memory that runs out"
PLACES = (
    "one GPU of several",
    "another GPU than meant",
    "the first GPU's load",
    "a GPU that is seen and not used",
    "worse results on several GPUs",
)
"""Which GPUs a run takes, and what they give."""
OTHERS = (
    "stall",
    "memory",
    "nonsense",
    *PLACES,
    "a machine that goes down",
    CRASH,
    "an empty adapter",
    "nodes apart",
    RELEASE,
    "memory kept after the end",
    "a build for processors",
    "another release than asked",
    "numbers of CUDA that differ",
    "a resumed run that differs",
    "another device than asked",
    "more memory than expected",
    "a cache that fills the disk",
    "one Python and another",
    "an import that fails",
    "a session that ends",
    "a card below its clock",
    "an adapter without effect",
    "a faster way that is not taken",
    "memory that is not used",
    "nodes that do not meet",
    "a download that is made again",
    "a GPU that is not seen",
    "a variable without effect",
    FULL,
    "a loss of nothing",
    "busy processors",
    "an installation that fails",
    "a port that is taken",
    "a driver that broke",
    "a folder that may not be written",
    "an access that is denied",
    "training that changes nothing",
    "a checkpoint that is not whole",
    "a large installation",
    "a download that fails",
    "an evaluation that fails",
    "a compiled model that fails",
)
"""What a person complains of beside the speed."""


@frozen
class Situation:
    """``said`` in one line of a report with the complaint ``of`` it (and ``beside`` in any, ``unless`` in none)."""

    name: str
    said: str
    meaning: str
    remedy: str
    source: str
    of: str = SPEED
    kind: str = ""  # of the cause; "" for the rule's own
    beside: str = ""
    unless: str = ""
    commands: tuple[str, ...] = ()
    gives_way: tuple[str, ...] = ()  # names of those that speak in its place
    last: bool = False  # only where no other speaks

    @cached_property
    def _pattern(self) -> Pattern:
        return Pattern(self.said, re.IGNORECASE)

    @cached_property
    def _besides(self) -> Besides:
        return Besides.of(self.beside, self.unless)

    def is_in(self, text: str) -> bool:
        return self._pattern.search(text) is not None and self._besides.stand((text,))


SITUATIONS = Rows(bundled_table("slowness"), "situation", Situation)
COMPLAINTS = Rows(bundled_table("complaints"), "situation", Situation)


def situations_of(complaint: str, text: str) -> tuple[str, ...]:
    """The names of those that the text of a report with such a complaint tells of."""
    rows = SITUATIONS if complaint == SPEED else COMPLAINTS
    told = [one for one in rows if one.of == complaint and one.is_in(text)]
    names = {one.name for one in told}
    return tuple(one.name for one in told if names.isdisjoint(one.gives_way) and not (one.last and len(told) > 1))
