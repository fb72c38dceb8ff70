"""The Python that pip ran under, which need not be the one that a text names: the releases that it was offered tell."""

from envdoctor.knowledge.questions import python_offered, release_of, versions
from envdoctor.rules.finding import Finding, finding
from envdoctor.rules.rule import Interpreter, Match, Pattern

_OFFERED = Pattern(r"\(from versions?: ([^)]*)\)")


def offered_releases(line: str) -> list[str] | None:
    """The releases that pip says it could choose from; None where the line has no such list."""
    offered = _OFFERED.search(line)
    return [text.strip() for text in offered[1].split(",")] if offered else None


def of_another_python(missing: Match[str], interpreter: Interpreter, title: str) -> Finding | None:
    """Where the torch that is asked for has no wheel for the Python of this pip, and the text names another one, or
    none."""
    offered, wanted = offered_releases(missing.string), missing["wanted"] or ""
    release = release_of(wanted.lstrip("=")) if wanted.startswith("==") else None
    if offered is None or release is None or missing["name"].lower() != "torch":
        return None
    pips = python_offered(offered)
    own, python, last = (versions.release(text) for text in (interpreter.version, pips, release.python[1]))
    if python is None or last is None or (own is not None and own[:2] == python[:2]) or python[:2] <= last[:2]:
        return None
    named = interpreter.version if own is not None else ""
    fitting = release.python[1]
    return finding(
        title=title,
        actual=f"a pip of another Python than {named}" if named else f"a pip that is offered torch for Python {pips}",
        expected=f"Python {release.python[0]} to {fitting}",
        message=f"pip was offered no torch{wanted}: {missing.string}.",
        usually=f"this pip belongs to Python {pips}, whose first torch is the oldest one that it is offered"
        + (f", whatever Python {named} is here as well" if named else ""),
        fix=f"See which Python it is that pip installs for. torch {release.name} has wheels for Python "
        f"{release.python[0]} to {fitting}: let such a Python run it (python{fitting} -m pip, or an environment of it)"
        f", or ask for a torch that has wheels for {pips}.",
        run=("python -m pip --version", f"uv venv --python {'3.12' if last > (3, 12) else fitting} .venv"),
        explains=(
            "packages/import-mismatch",
            "packages/missing",
            "packages/no-such-release",
            "packages/known-errors torch",
        ),
    )
