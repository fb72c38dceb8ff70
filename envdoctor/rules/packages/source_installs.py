from envdoctor.rules.rule import NOTE, Facts, Findings, finding, need, rule


@rule(NOTE, kind="version-drift", subject="installed from source", expected="releases from an index")
def source_installs(facts: Facts) -> Findings:
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
    first, many = ", ".join(found[:8]), "packages" if len(found) > 1 else "package"
    if found:
        yield finding(
            actual=f"{first}, and {len(found) - 8} more" if len(found) > 8 else first,
            message=f"{len(found)} {many} cannot be locked by version and hash: {first}.",
            fix="Nothing to do while this is meant.",
        )
