"""The releases that a text asks for: from one on, but not into those that broke what it is written for; and one range
for all its errors, where they were met with several releases."""

import re
from collections.abc import Iterator
from functools import reduce

from envdoctor.knowledge.questions import last_python, names, pairs, torch_version, versions
from envdoctor.rules.rule import Facts, Pattern, known

_ARGUMENT = Pattern(
    r"(?<![\w.])(?P<callee>[A-Za-z_][\w.]{1,120})\(\) got an unexpected keyword argument ['\"]?(?P<what>\w{2,80})"
)
_MEMBER = Pattern(
    r"(?:'(?P<owner>[A-Z]\w{1,80})' object|type object '(?P<type>[A-Z]\w{1,80})') has no attribute '(?P<what>\w{2,80})'"
)
_IMPORT = Pattern(
    r"cannot import name ['\"]?(?P<what>\w+)['\"]? from ['\"]?(?P<module>[A-Za-z_][\w.]*)(?![\w.]|:[/\\])"
)
_NO_CLASS = frozenset({"__init__", "__new__"})


def rows_of(line: str, facts: Facts) -> Iterator[names.Name]:
    """What the tables tell of an error line, by hand or by the libraries' sources."""
    if (found := _ARGUMENT.search(line)) is not None:
        if found["callee"] in _NO_CLASS:
            yield from rows_of_unnamed(found["what"], facts)
            return
        by_hand = tuple(names.of_argument(found["callee"], found["what"]))
        yield from by_hand or names.of_call(found["callee"], found["what"])
    elif (found := _MEMBER.search(line)) is not None:
        yield from names.of_member(found["owner"] or found["type"], found["what"])
    elif (found := _IMPORT.search(line)) is not None:
        yield from names.of_name(found["module"], found["what"])


def rows_of_unnamed(argument: str, facts: Facts) -> Iterator[names.Name]:
    """Rows of an argument, where the error names no class and the text a library of which one class alone has it; where
    it names no library, of the only one that dropped an argument of such a long name."""
    words = frozenset(re.findall(r"\b[A-Z]\w{3,60}", "\n".join((*facts.messages, *facts.remarks.values()))))
    named = [package for key, package in facts.remarks.items() if key.startswith("library named ")]
    if not named:
        alone = names.only_library_with(argument)
        owner = names.one_class_with(alone, argument, words) if alone else ""
        rows = (row for row in names.of_call(owner, argument) if row.package == alone)
        yield from (row for row in rows if row.direction == "removed")
    for package in named:
        if owner := names.one_class_with(package, argument, words):
            yield from (row for row in names.of_call(owner, argument) if row.package == package)
        else:
            yield from names.of_a_constructor(package, argument)


def rows_of_several(argument: str) -> tuple[names.Name, ...]:
    """Rows of an argument, where the error names no class and two or three libraries dropped one of this name: of each
    the class that had it."""
    packages = names.libraries_with(argument)
    if len(packages) not in (2, 3):
        return ()
    owners = {package: names.one_class_with(package, argument) for package in packages}
    rows = [row for name in owners.values() for row in names.of_call(name, argument) if owners.get(row.package) == name]
    dropped = {row.package: row for row in rows if row.direction == "removed"}
    return tuple(dropped.values()) if dropped.keys() == owners.keys() else ()


def range_of_all(facts: Facts, row: names.Name) -> tuple[str, str]:
    """The requirement that serves this row and all other errors of its package, and what those ask for; ("", "") where
    no other error of the text tells of the package, or they leave nothing."""
    own = (row.name, row.argument)
    others: dict[tuple[str, str], names.Name] = {}
    for line in facts.messages:
        told = tuple(rows_of(line, facts))
        if len({each.package for each in told}) == 1 and told[0].package == row.package:
            others.setdefault((told[0].name, told[0].argument), told[0])
    others.pop(own, None)
    if not others:
        return "", ""
    rows = (row, *others.values())
    lowest = reduce(_later, (bound for each in rows if (bound := _first(each))), "")
    end = reduce(_earlier, (each.release for each in rows if each.direction == "removed"), "")
    if lowest and end and not versions.below(lowest, end):
        return "", ""
    bounds = (f">={lowest}" if lowest else "", f"<{end}" if end else _end(facts, row.package, lowest))
    return row.package + ",".join(filter(None, bounds)), " and ".join(map(_sentence, others.values()))


def ranged_line(facts: Facts, line: str, package: str) -> tuple[str, str]:
    """The same of the first row that tells of a line and this package."""
    row = next((row for row in rows_of(line, facts) if row.package == package), None)
    return range_of_all(facts, row) if row else ("", "")


def from_release(facts: Facts, package: str, release: str) -> str:
    """The releases from one on, up to where they break what the text shows."""
    end = _end(facts, package, release)
    return f"{package}>={release}" + (f",{end}" if end else "")


def with_an_end(facts: Facts, requirement: str) -> str:
    """A requirement that only has a lower bound, with its end."""
    found = re.fullmatch(r"([\w.-]+?)>=([\d.]+)", requirement)
    return from_release(facts, found[1], found[2]) if found else requirement


def _end(facts: Facts, package: str, release: str) -> str:
    """Where the code would break again: the release that dropped what it imports too; else the next major one, where
    there is one by now (a release of the one before is what it was written for)."""
    gone = [
        key.split()[3]
        for key in facts.remarks
        if key.startswith(f"import that {package} ") and key.endswith(" dropped")
    ]
    first = reduce(_earlier, (each for each in gone if versions.below(release, each)), "")
    here, last = versions.release(release), versions.release(names.newest_read(package))
    if not first and here and last and here[0] < last[0]:
        first = str(here[0] + 1)
    torch = torch_version(facts) if package == "transformers" else None
    beyond = pairs.first_beyond(torch) if torch else ""  # which would run without this torch
    if beyond and versions.below(release, beyond):
        first = _earlier(first, beyond)
    return f"<{first}" if first else ""


def removal(row: names.Name, what: str, version: str | None, asking: str) -> tuple[str, str]:
    """What is proved of a name that later releases have no more, and what is so in most cases: of a release that nobody
    named no more is proved than that it lacks the name."""
    moved = row.moved_to and what == row.name  # another module of the package may have it
    holder = row.module if moved else row.package
    if row.since and (version is None or versions.below(version, row.since)):
        at_last = "at the latest from" if row.since == row.read_from else "from"
        return f"{row.package} has {what} {at_last} {row.since} on and before {row.release}, and {asking} needs it", ""
    if version:
        return f"{holder} dropped {what} in {row.release}, and {asking} still asks for it", ""
    early = f" (one before {row.read_from} may not have had it yet)" if row.read_from else ""
    return f"{holder} as it is here has no {what}, which {asking} asks for", (
        f"it is {row.release} or later, which dropped it{early}"
    )


def _first(row: names.Name) -> str:
    return row.release if row.direction == "added" else row.since


def _sentence(row: names.Name) -> str:
    what = f"the argument {row.argument} of {row.name}" if row.argument else row.name
    return f"{what} (from {row.release} on)" if row.direction == "added" else f"{what} (before {row.release})"


def _later(one: str, other: str) -> str:
    return other if not one or versions.below(one, other) else one


def _earlier(one: str, other: str) -> str:
    return other if not one or versions.below(other, one) else one


def too_new_a_python(facts: Facts, row: names.Name) -> str:
    """The newest Python for which the last release that has the name has wheels, where the one here is newer."""
    release, interpreter = versions.release(row.release), known(facts.interpreter)
    if release is None or interpreter is None:
        return ""
    last = f"{release[0]}.{release[1] - 1}.99" if release[1] else f"{release[0] - 1}.999"
    newest = last_python(row.package, last)
    here = ".".join(interpreter.version.split(".")[:2])
    return newest if newest and versions.below(newest, here) else ""
