"""What is behind a name that a package lacks, where no table tells of it, and what tells more."""

from envdoctor.knowledge.questions import errors_in, versions
from envdoctor.rules.packages._callers import caller_of
from envdoctor.rules.rule import Facts


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
