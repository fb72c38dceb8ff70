"""What is behind a name that a package lacks, where no table tells of it, and what tells more."""

from envdoctor.knowledge.questions import errors_in, is_package, versions
from envdoctor.rules.packages._callers import caller_of
from envdoctor.rules.rule import Facts, Pattern

_ASKED = Pattern(
    r"(?:module '(?P<module>[\w.]{1,120})' has no attribute|cannot import name) '?(?P<what>\w{1,80})"
    r"(?:'? from '?(?P<place>[\w.]{1,120}))?"
)
_PRIVATE = Pattern(r"(?:^|\.)_(?!_|core\b)\w")
_MADE_WITH_OTHERS = frozenset({"torch", "numpy", "jax", "jaxlib"})
"""Of whose private parts libraries ask that are made for each of their releases: an older one lacks them as often."""
_PINNERS = {"tokenizers": "transformers"}
"""Packages that go with few releases of another one, and name them."""


def pinned_by(package: str) -> str:
    """The package that names the few releases of this one with which it goes; "" where none is known."""
    return _PINNERS.get(package, "")


def is_private(line: str, name: str) -> bool:
    """Is a part asked for that a package has for itself alone (its name begins with an underscore)?"""
    found = _ASKED.search(line)
    if found is None or name in _MADE_WITH_OTHERS:
        return False
    return any(_PRIVATE.search(part) for part in (found["module"], found["place"], found["what"]) if part)


def to_the_same_time(name: str, caller: str, *, private: bool) -> tuple[str, tuple[str, ...]]:
    """How a caller and what it calls come to one time, and what of it pip would upgrade: a project that was cloned has
    no release on an index, or another one's of that name."""
    newest = f"the newest {caller}" if is_package(caller) else f"the newest sources of {caller}, where it was cloned"
    if private:
        text = f"Install an earlier {name}, the one that the requirements of {caller} name or that was the newest when "
        return f"{text}it was written; or take {newest}.", (caller,) if is_package(caller) else ()
    if is_package(caller):
        both = f"Bring {caller} and {name} to releases of the same time: the newest of both, or those that {caller}"
        return f"{both} pins.", (caller, name)
    return f"Bring {caller} and {name} to the same time: the releases that {caller} pins, or {newest}.", ()


def behind(name: str, caller: str | None, version: str | None, line: str, *, new: bool) -> str:
    """What is behind a name that is in no table, in most cases."""
    if new:
        return f"{name} is older than this part of it"
    if "No module named" in line:
        return (
            f"{name} is of another release than its caller was written for, is not whole (a part that has to be built "
            "or installed apart), or a folder or another package of that name is imported in its place"
        )
    if caller is None and version is None and f"module '{name}' has no" in line:
        return f"a file or folder of that name hides {name}, or it is of another release than the code was written for"
    if caller and caller != name and is_private(line, name):
        return (
            f"{name} is too new for {caller} (what begins with an underscore changes without notice, and who uses it "
            f"is of an earlier time), {name} is older than {caller}, or its files are of two releases"
        )
    times = f"{caller or 'its caller'} and {name} are of different times"
    return f"{times}, a file or folder of that name hides it, or its files are of two releases"


def breaks(facts: Facts, cure: str) -> str:
    """What the text imports beside it that the release that would help has no more."""
    name, _, release = cure.partition(">=")
    dropped = (key.split() for key in facts.remarks if key.startswith(f"import that {name} "))
    gone = next((key[3] for key in dropped if release and not versions.below(release, key[3])), "")
    return facts.remarks[f"import that {name} {gone} dropped"] if gone else ""


def is_decided(facts: Facts, line: str, name: str) -> bool:
    """Does a row speak of the line because of what stands around it (a fork that took the package's name), or of this
    very package? It knows more than the name tells."""
    rows = [row for row in errors_in(facts, line) if not row.weak]
    torn = caller_of(line) == name  # a release that asks itself for what it lacks
    return any(row.beside or (row.subject == name and not torn) for row in rows)
