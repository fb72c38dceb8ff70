from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def source_installs(facts: Facts, target: Target) -> Iterator[Finding]:
    """Packages come from a folder, a repository or an archive, not from an index.

    Why: an editable install changes with its folder, and a repository's commit carries the version of some
    release. Neither can be locked by version and hash, so a measured speed does not belong to it for sure.
    Fix: nothing, while it is meant; a release from an index otherwise.
    Source: https://packaging.python.org/en/latest/specifications/direct-url/
    """
    found = [
        f"{distribution.name} {distribution.version} ({'editable' if distribution.editable else distribution.source})"
        for distribution in need(facts.packages).distributions
        if distribution.editable or distribution.source in ("vcs", "archive", "file")
        if distribution.installer != "conda"  # conda builds leave the address of their build folder behind
    ]
    if found:
        yield Finding(
            kind="version-drift",
            subject="installed from source",
            actual=", ".join(found[:8]) + (f", and {len(found) - 8} more" if len(found) > 8 else ""),
            expected="releases from an index",
            message=f"{len(found)} package{'s' if len(found) > 1 else ''} cannot be locked by version and hash: "
            + ", ".join(found[:8])
            + ".",
            remedy=Remedy(text="Nothing to do while this is meant."),
        )
