from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import remedies, versions
from envdoctor.knowledge.requirements import read
from envdoctor.pattern import Pattern
from envdoctor.rule import Finding, Severity, known, rule
from envdoctor.target import Target

_ONE = r"(?P<one>[A-Za-z][\w.-]*) \d[\w.+!-]*:? (?:requires|needs|has requirement) "
_WANTED = r"(?P<wanted>[A-Za-z][\w.-]*(?:\[[\w,-]+\])? ?\(?[<>=!~]=?[^ ]+)"
_LINES = (
    # pip: "a 1.0 requires b<2, but you have b 2.1 which is incompatible."; reports shorten it in many ways
    Pattern(_ONE + _WANTED),
    # transformers: "tokenizers>=0.11,<0.14 is required for a normal functioning of this module, but found ..."
    Pattern(_WANTED + r" is required for a normal functioning of this module"),
    # libraries that check others by themselves: "Using X requires y>=1.2"
    Pattern(r"\b(?:requires?|needs|depends on) (?P<wanted>[A-Za-z][\w.-]*(?:>=|==|<=|<|>|~=|!=) ?\d[\w.,<>=!]*)"),
    # uv: "The package `a` requires `b<2`, but `2.1` is installed"
    Pattern(r"package `(?P<one>[^`]+)` requires `(?P<wanted>[^`]+)`"),
)


@rule(Severity.ERROR)
def reported_conflicts(facts: Facts, target: Target) -> Iterator[Finding]:
    """An installer or a library said that versions do not fit together.

    Why: pip installs what it was asked for and only then prints which demands it broke; libraries that check
    their own demands stop at import. The line names the pair.
    Fix: a version that all of them accept; where two demands exclude each other, separate environments.
    Source: https://pip.pypa.io/en/stable/topics/dependency-resolution/
    https://github.com/huggingface/transformers/blob/main/src/transformers/utils/versions.py
    """
    packages = known(facts.packages)
    for line in facts.messages:
        match = next((m for pattern in _LINES if (m := pattern.search(line))), None)
        if match is None:
            continue
        requirement = re.sub(r"[).,;]+$", "", match["wanted"])
        wanted = read(requirement)
        if wanted is None or wanted.name == "python" or not wanted.specifier:
            continue
        version = packages.version(wanted.name) if packages else None
        if version is not None and versions.within(version, wanted.specifier):
            continue  # what was reported has been repaired since, or the other side of a pair is the violated one
        one = match.groupdict().get("one") or "a package"
        locked = remedies.locked(target, packages, wanted.name)
        yield Finding(
            kind="package-conflict",
            subject=f"{one} {wanted.name}",
            actual=version or "another version",
            expected=requirement,
            message=f"{line.rstrip('.')}.",
            remedy=remedies.choose(
                target, locked, f"Install {requirement}, or separate the two.", remedies.install(requirement)
            ),
            explains=("packages/import-mismatch", f"packages/known-symptoms {wanted.name}"),
            root_rank=29,
            repair=locked,
        )
