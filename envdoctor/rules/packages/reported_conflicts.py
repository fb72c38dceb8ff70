from envdoctor.knowledge import versions
from envdoctor.knowledge.requirements import normal, read
from envdoctor.rules import remedies
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Target, finding, known, rule

_ONE = r"(?P<one>[A-Za-z][\w.-]{0,80}) \d[\w.+!-]{0,80}:? (?:requires|needs|has requirement) "
_WANTED = r"(?P<wanted>[A-Za-z][\w.-]{0,80}(?:\[[\w,-]{1,80}\])? ?\(?[<>=!~]=?[^ ]{1,200})"
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


@rule(ERROR, kind="package-conflict")
def reported_conflicts(facts: Facts, target: Target) -> Findings:
    """An installer or a library said that versions do not fit together.

    Why: pip installs what it was asked for and only then prints which demands it broke; libraries that check
    their own demands stop at import. The line names the pair.
    Fix: a version that all of them accept; where two demands exclude each other, separate environments.
    Source: https://pip.pypa.io/en/stable/topics/dependency-resolution/
    https://github.com/huggingface/transformers/blob/main/src/transformers/utils/versions.py
    """
    packages = known(facts.packages)
    told: set[tuple[str, str]] = set()
    for line in facts.messages:
        match = next((m for pattern in _LINES if (m := pattern.search(line))), None)
        if match is None:
            continue
        requirement = match["wanted"].rstrip(").,;")
        wanted = read(requirement)
        if wanted is None or wanted.name == "python" or not wanted.specifier:
            continue
        version = packages.version(wanted.name) if packages else None
        if version is not None and versions.within(version, wanted.specifier):
            continue  # what was reported has been repaired since, or the other side of a pair is the violated one
        one = match.groupdict().get("one") or "a package"
        if (one, wanted.name) in told:
            continue
        told.add((one, wanted.name))
        locked = remedies.locked(target, packages, wanted.name)
        mates = normal(one) in ("torchvision", "torchaudio") and wanted.name == "torch"
        yield finding(
            kind="torch-pair-mismatch" if mates else "",
            subject=f"{one} {wanted.name}",
            actual=version or "another version",
            expected=requirement,
            message=f"{line.rstrip('.')}.",
            fix=remedies.choose(
                target, locked, f"Install {requirement}, or separate the two.", remedies.install(requirement)
            ),
            explains=("packages/import-mismatch", f"packages/known-symptoms {wanted.name}"),
            repair=locked,
        )
