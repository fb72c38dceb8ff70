"""From a row of the defects' tables to a finding: one shape for broken and for slow releases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from envdoctor.compat.torch_builds import line_of
from envdoctor.facts import Facts, Packages
from envdoctor.knowledge import remedies, versions
from envdoctor.knowledge.defects import Defect
from envdoctor.knowledge.hardware import capabilities
from envdoctor.pattern import Pattern
from envdoctor.rule import Finding, Severity, known
from envdoctor.target import Target

_SLOW = Pattern(r"\b(?:slow|slower|slowness|times as long|takes longer|\d+ ?x longer)\b", re.IGNORECASE)


def found(rows: Iterable[Defect], facts: Facts, target: Target, kind: str, rank: int) -> Iterator[Finding]:
    """One finding for each row whose release is installed; its severity says whether the rest holds too."""
    packages, torch = known(facts.packages), known(facts.torch)
    for row in rows:
        version = packages.version(row.name) if packages else None
        if row.name == "torch" and torch:
            version = torch.version
        if version is None or not _concerned(row, version, facts):
            continue
        full = _together(row, packages) and _on_such_gpu(row, facts, target) and _hinted(row, facts)
        if kind == "known-slow-version" and row.otherwise is not None and _complains(facts):
            full = True
        severity = row.severity if full else row.otherwise
        if severity is None:
            continue
        locked = remedies.locked(target, packages, row.name)
        yield Finding(
            kind=kind,
            subject=row.name,
            actual=version,
            expected=row.use,
            message=f"{row.name} {version}: {row.effect}.",
            remedy=remedies.choose(target, locked, f"Install {row.use}.", remedies.install(row.use)),
            severity=severity,
            source=row.source,
            root_rank=rank if severity > Severity.NOTE else 0,
            repair=locked,
        )


def _concerned(row: Defect, version: str, facts: Facts) -> bool:
    """Released versions only: a nightly of 2.9 was not 2.9.0 yet."""
    parsed, torch = versions.parse(version), known(facts.torch)
    if parsed is None or parsed.is_prerelease or not versions.within(versions.public(version), row.versions):
        return False
    return not row.cuda or line_of(version, torch.cuda if torch else None) != ""


def _together(row: Defect, packages: Packages | None) -> bool:
    for name, specifier in row.beside.items():
        version = packages.version(name) if packages else None
        if version is None or (specifier and not versions.within(version, specifier)):
            return False
    return True


def _on_such_gpu(row: Defect, facts: Facts, target: Target) -> bool:
    if row.capability is None:
        return True
    least, greatest = row.capability
    return any(least <= found <= greatest for found in capabilities(facts, target))


def _complains(facts: Facts) -> bool:
    """Does the report itself say that training is slow? Then a release that is known for it needs no other hint."""
    return any(_SLOW.search(line) for line in facts.messages)


def _hinted(row: Defect, facts: Facts) -> bool:
    if row.hint is None:
        return True
    texts = (*facts.messages, *facts.remarks.values(), *(script.source for script in facts.scripts))
    return any(row.hint.search(text) for text in texts)
