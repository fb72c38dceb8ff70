"""Which requirements an installer, or a library that checks for itself, found not to be met, or not together."""

import re
from collections.abc import Iterator

from envdoctor.knowledge.questions import normal, requirements
from envdoctor.rules.rule import Facts, Pattern, versions
from envdoctor.values.frozen import frozen

_ONE = r"(?P<one>[A-Za-z][\w.-]{0,80}) (?P<version>\d[\w.+!-]{0,80}):? (?:requires|needs|has requirement) "
_WANTED = r"(?P<wanted>[A-Za-z][\w.-]{0,80}(?:\[[\w,-]{1,80}\])? ?\(?[<>=!~]=?[^ ]{1,200})"
LINES = (
    # pip: "a 1.0 requires b<2, but you have b 2.1 which is incompatible."; reports shorten it in many ways
    Pattern(_ONE + _WANTED),
    # transformers: "tokenizers>=0.11,<0.14 is required for a normal functioning of this module, but found ..."
    Pattern(_WANTED + r" is required for a normal functioning of this module"),
    # libraries that check others by themselves: "Using X requires y>=1.2"
    Pattern(r"\b(?:requires?|needs|depends on) (?P<wanted>[A-Za-z][\w.-]*(?:>=|==|<=|<|>|~=|!=) ?\d[\w.,<>=!]*)"),
    # uv: "The package `a` requires `b<2`, but `2.1` is installed"
    Pattern(r"package `(?P<one>[^`]+)` requires `(?P<wanted>[^`]+)`"),
)
"""``one`` asks, ``wanted`` is the requirement."""
HAVE = Pattern(r"but you(?:'ll)? have \S{1,80} v?(?P<version>\d[\w.+]{0,40})")
"""What is there in place of what is asked for."""
_USER = Pattern(
    r"\bThe user requested (?:\(constraint\) )?(?P<wanted>[A-Za-z][\w.-]{0,80} ?[<>=!~]=?[^ ,]{1,80}"
    r"(?:(?:, ?| and )[<>=!~]=?[^ ;,]{1,60}){0,8})"
)
_DEPENDS = Pattern(
    r"(?<![\w.+-])(?P<one>[A-Za-z][\w.-]{0,80}?)(?:\[[\w,-]{1,80}\])? (?P<version>\d[\w.+!-]{0,60}) depends on "
    r"(?P<wanted>[A-Za-z][\w.-]{0,80}(?:\[[\w,-]{1,80}\])? ?[<>=!~]=?[^ ;,]{1,60}"
    r"(?:(?:, ?| and )[<>=!~]=?[^ ;,]{1,60}){0,8})"
)


@frozen
class ListedDemand:
    """What a release of a package asks for, as pip says where it cannot be had."""

    name: str
    version: str
    wanted: requirements.Wanted

    @property
    def needs(self) -> str:
        return f"{self.wanted.name}{self.wanted.specifier}"


def list_of_demands(facts: Facts) -> Iterator[ListedDemand]:
    for line in facts.messages:
        found = _DEPENDS.search(line.strip(" -"))
        if found and (wanted := _bounds(found["wanted"])):
            yield ListedDemand(name=normal(found["one"]), version=found["version"], wanted=wanted)


def demand_against(facts: Facts, name: str, version: str) -> ListedDemand | None:
    """What another package asks for in place of this release, which pip found beside it."""
    for line in facts.messages:
        found, have = LINES[0].search(line), HAVE.search(line)
        if found is None or have is None or have["version"] != version:
            continue
        wanted = _bounds(found["wanted"])
        if wanted and wanted.name == name:
            return ListedDemand(name=normal(found["one"]), version=found["version"], wanted=wanted)
    return None


def is_listed(line: str) -> bool:
    return _DEPENDS.search(line.strip(" -")) is not None


def asked_by_the_user(facts: Facts) -> list[requirements.Wanted]:
    found = (_USER.search(line) for line in facts.messages)
    return [one for each in found if each and (one := _bounds(each["wanted"]))]


def is_of_a_list(facts: Facts) -> bool:
    """Does pip list who asks for what?"""
    heads = ("The conflict is caused by", "ResolutionImpossible")
    return any(head in text for text in facts.messages for head in heads) or any(map(_USER.search, facts.messages))


_NO_WHEELS = Pattern(
    r"(?P<name>[A-Za-z][A-Za-z\d_.-]{0,80}?)(?:\[[\w,-]{1,80}\])?(?:[<>=!~][^ ]{1,120})? has no "
    r"(?:usable )?wheels? (?:are )?(?:available )?(?:with|for)\b"
)
_RESOLVES = Pattern(r"\bdepends? on\b|we can conclude|cannot be used|are incompatible|[Bb]ecause ")
"""uv's reckoning of which releases could be had, step by step."""


def is_without_wheels(facts: Facts, name: str, line: str) -> bool:
    """Does the line reckon with a package of which some releases have no wheel for this Python or system?"""
    if _RESOLVES.search(line) is None:
        return False
    return any(normal(found["name"]) == name for text in facts.messages for found in _NO_WHEELS.finditer(text))


def _bounds(text: str) -> requirements.Wanted | None:
    """pip writes the last of several bounds behind "and"."""
    return requirements.read(text.rstrip(").,").replace(" and ", ",").replace(", ", ","))


def exact(specifier: str) -> str | None:
    found = re.fullmatch(r"==(\d[\w.+]*)", specifier)
    return found[1] if found else None


def are_apart(asked: str, needed: str) -> bool:
    """Does no release meet both? What both take holds the highest of the lower bounds, or what comes next to it."""
    bounds = [bound.rstrip(".") for bound in re.findall(r"(?<![\w.+])\d[\w.+]*", f"{asked},{needed}")]
    for each in ("0", *bounds, *(f"{bound}.0.0.1" for bound in bounds if "+" not in bound)):
        one, other = versions.within(each, asked), versions.within(each, needed)
        if one is not False and other is not False:
            return False
    return True
