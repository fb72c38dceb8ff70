from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import remedies
from envdoctor.knowledge.requirements import normal
from envdoctor.pattern import Pattern
from envdoctor.rule import Finding, Severity, known, rule
from envdoctor.target import Target

_LINES = (
    Pattern(r"cannot import name '?(?P<what>\w+)'? from '?(?P<module>[A-Za-z_][\w.]*)"),
    Pattern(r"ImportError: (?P<module>[A-Za-z_][\w.]*)(?: \([^)]*\))? has no name '?(?P<what>\w+)"),
    Pattern(r"module '(?P<module>[A-Za-z_][\w.]*)' has no attribute '(?P<what>\w+)'"),
    Pattern(r"No module named '?(?P<module>[A-Za-z_]\w*)\.(?P<what>[\w.]+)"),
    Pattern(r"(?P<module>[A-Za-z_]\w*)\S* got an unexpected (?:keyword )?argument '?(?P<what>\w+)"),
)
_NAMES = {"sklearn": "scikit-learn", "cv2": "opencv-python", "pil": "pillow", "yaml": "pyyaml"}


@rule(Severity.ERROR)
def import_mismatch(facts: Facts, target: Target) -> Iterator[Finding]:
    """One package asks another for something that its version does not have.

    Why: a name that cannot be imported, an attribute or an argument that does not exist, mean that the caller was
    written for an older or newer release of the package it calls. Which of the two to move follows from their
    release notes.
    Fix: bring both to releases of the same time, or to the target's stack.
    Source: https://docs.python.org/3/library/exceptions.html#ImportError
    """
    packages = known(facts.packages)
    for line in facts.messages:
        if "partially initialized" in line or "circular import" in line:
            continue  # a file that hides the module: interpreter/shadowed-modules
        match = next((m for pattern in _LINES if (m := pattern.search(line))), None)
        if match is None:
            continue
        top = match["module"].partition(".")[0]
        name = _NAMES.get(top.lower(), normal(top))
        version = packages.version(name) if packages else None
        if version is None and "unexpected" in line:
            continue  # a function whose package is not known: its caller cannot be named either
        locked = remedies.locked(target, packages, name)
        yield Finding(
            kind="package-conflict",
            subject=name,
            actual=version or "of unknown version",
            expected=f"a release that has {match['what']}",
            message=f"{name} {version or ''}".rstrip() + f" does not have what another package expects: {line}.",
            remedy=remedies.choose(
                target,
                locked,
                "Bring the caller and this package to releases of the same time.",
                f"python -m pip install --upgrade {name}",
            ),
            root_rank=5,
            repair=locked,
        )
