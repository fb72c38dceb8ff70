"""The release that a text names has what the error misses: it is not what runs."""

from envdoctor.knowledge.questions import normal
from envdoctor.rules.rule import WARNING, Facts, Finding, Pattern, Target, finding, messages, remedies

_TORN = Pattern(
    r"(?P<who>[A-Za-z][\w.-]{0,60}) (?P<of>\d[\w.]{0,20}) requires (?P<name>[A-Za-z][\w.-]{0,60}?)"
    r"(?P<use>[<>=!~][^\s;]{1,60}), but you have \S{1,60} (?P<version>\d[\w.]{0,20})"
)
"""What pip says of a release that it brought, and that another package does not take."""
_WITH = {"tokenizers": ("transformers",)}
"""Who holds a package to a few releases, so that it moves with it alone."""


def torn_between(facts: Facts, name: str, version: str, has: str, line: str, *, source: str) -> Finding | None:
    """The release that has what is missed is one that pip warned of: then nobody says that it runs."""
    found = messages.anywhere(facts, _TORN)
    if found is None or normal(found["name"]) != name or found["version"] != version:
        return None
    who = f"{found['who']} {found['of']}"
    return finding(
        subject=name,
        actual=f"{found['use']} for {who}",
        expected=f"a release of {found['who']} that takes the {name} that is asked for",
        certain=False,
        message=f"{has}; {who} takes {name}{found['use']} alone, and {version} is none of those: no release of {name} "
        f"does for both: {messages.own_words(line)}",
        fix=f"Move what holds {name} back: upgrade {found['who']} and whatever pins it, or take a release of what asks "
        f"for the newer {name} (the traceback names it) that is as old as {who}.",
        run=(remedies.upgrade(*_WITH.get(found["who"], ()), found["who"]),),
        source=source,
    )


def another_copy(
    facts: Facts, target: Target, name: str, version: str, has: str, line: str, *, module: str, source: str
) -> Finding:
    """``has``: what the package has and in which releases, as a clause. A warning, since people name the wrong one."""
    look = f"python -c 'import {module}; print({module}.__file__, {module}.__version__)'"
    again = remedies.install_anew(name, version, "--no-deps --no-cache-dir")
    return finding(
        subject=name,
        actual=f"{version} is listed",
        expected="the release that is listed",
        severity=WARNING,
        certain=False,
        message=f"{has}, and {version} is listed: {_NOT_IT}: {messages.own_words(line)}",
        fix=remedies.by_hand(facts, target, name, _SEE_WHICH, look, again),
        source=source,
    )


_NOT_IT = (
    "what runs is another copy of it (of another Python, or in the user's own site-packages), files of two releases "
    "are mixed, or Python was not started anew"
)
_SEE_WHICH = (
    "See which file is imported and of which release, start Python anew (in a notebook: restart the runtime), and "
    "install it again into that very Python."
)
