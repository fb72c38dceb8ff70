"""Names that are asked of a package and belong elsewhere, to another package or Python, or are written otherwise."""

from envdoctor.knowledge.questions import names
from envdoctor.rules.rule import Finding, finding, messages, remedies


def home_of(name: str, what: str, *, searched: frozenset[str]) -> str | None:
    """The package that the name belongs to, where it is another one than it is asked of."""
    home = names.home_of(what)
    return home if home and home != name and name in searched else None


def elsewhere(name: str, version: str | None, what: str, home: str, line: str) -> Finding:
    return finding(
        subject=what,
        actual=f"imported from {name}",
        expected=f"from {home.replace('-', '_')} import {what}",
        message=f"{what} belongs to {home}, and is asked of {name} {version or ''}".rstrip()
        + f": {messages.own_words(line)}.",
        fix=f"Change the import: from {home.replace('-', '_')} import {what}.",
        run=(remedies.upgrade(home),),
    )


def of_python(name: str, version: str | None, what: str, line: str) -> Finding:
    """A module of Python's own that a package happened to import."""
    return finding(
        subject=name,
        actual=f"{version or 'of unknown version'}, without {what}",
        expected=f"import {what}",
        message=f"{what} is a module of Python's own, which was seen through {name} as long as it imported it: "
        f"{messages.own_words(line)}",
        fix=f"Import it itself where the line is: import {what}, and {what}. in place of what stands before it.",
    )


def in_other_capitals(name: str, version: str | None, what: str, row: names.Name, line: str) -> Finding:
    """A name of the package that differs in capitals alone from the one that is asked for."""
    there = f"from {row.release} on" if row.direction == "added" else row.pin.removeprefix(name)
    fix = f"Write {row.name} in the line that imports it, with a release of {name} that has it ({there})."
    return finding(
        subject=name,
        actual=f"{version or 'of unknown version'}, asked for {what}",
        expected=row.name,
        certain=False,
        message=f"{name} has {row.name} ({there}), and {what}, in other capitals, is asked for: "
        f"{messages.own_words(line)}.",
        usually=f"the code is of a draft of {name} or of a copy of its own, from before the name was settled",
        fix=fix,
        run=remedies.install_releases(name, f"{name}>={row.release}") if row.direction == "added" else "",
        source=row.source,
    )
