"""The release that a text names has what the error misses: it is not what runs."""

from envdoctor.rules.packages import _unmet
from envdoctor.rules.rule import WARNING, Facts, Finding, Target, finding, messages, remedies

_WITH = {"tokenizers": ("transformers",)}
"""Who holds a package to a few releases, so that it moves with it alone."""


def torn_between(facts: Facts, name: str, version: str, has: str, line: str, *, source: str) -> Finding | None:
    """The release that has what is missed is one that pip warned of: then nobody says that it runs."""
    demand = _unmet.demand_against(facts, name, version)
    if demand is None:
        return None
    who = f"{demand.name} {demand.version}"
    return finding(
        subject=name,
        actual=f"{demand.wanted.specifier} for {who}",
        expected=f"a release of {demand.name} that takes the {name} that is asked for",
        certain=False,
        message=f"{has}; {who} takes {demand.needs} alone, and {version} is none of those: no release of {name} "
        f"does for both: {messages.own_words(line)}",
        fix=f"Move what holds {name} back: upgrade {demand.name} and whatever pins it, or take a release of what asks "
        f"for the newer {name} (the traceback names it) that is as old as {who}.",
        run=(remedies.upgrade(*_WITH.get(demand.name, ()), demand.name),),
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
