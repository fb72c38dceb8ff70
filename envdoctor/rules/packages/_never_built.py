"""A release of torch that is asked for with a CUDA line for which it was never built."""

from envdoctor.knowledge.questions import circumstances, label_of, lines_beside, release_of, release_with, torch_version
from envdoctor.rules.rule import Facts, Finding, Match, Pattern, finding, known, messages, remedies, versions

_LABELLED = Pattern(r"(?<![\w-])torch ?={2,3} ?v?(?P<version>\d\.\d{1,2}(?:\.\d)?)\+cu(?P<line>\d{2,3})(?![\w.])")
_PLAIN = Pattern(
    r"(?:satisfies the requirement|distribution found for|no version of) torch ?={2,3} ?"
    r"(?P<version>\d\.\d{1,2}(?:\.\d)?)(?![\w.+])"
)
_REFUSED = Pattern(
    r"(?i)no matching distribution|could not find a version|no solution found|there is no version of"
    r"|(?:unable|failed) to find (?:installation )?candidates|depends on torch.{0,40}doesn't match any"
)


def finding_of(facts: Facts) -> Finding | None:
    """Proved by the table of builds, where an installer found nothing or a build for processors came in its place."""
    asked = _request(facts)
    version = torch_version(facts) or ""
    if asked is None or not (_every(facts, _REFUSED) or "+cpu" in version):
        return None
    number, label = asked
    cuda, release = f"{label[:-1]}.{label[-1]}", release_of(number)
    if release is None or cuda in release.lines or cuda in release.arm:
        return None
    lines = ", ".join(release.lines)
    fix, run = _way(facts, number, cuda, release.lines)
    return finding(
        subject="torch",
        title="torch is asked for with a CUDA line that it has no build for",
        actual=f"torch {number} for cu{label}",
        expected=f"one of CUDA {lines} with torch {release.name}",
        kind="package-conflict",
        message=f"torch {release.name} has builds for CUDA {lines}, and none for CUDA {cuda}, which is asked for "
        f"(torch {number}, cu{label}): no index has it.",
        fix=fix,
        run=run,
        explains=_EXPLAINED,
    )


_EXPLAINED = (
    "packages/known-errors",
    "packages/no-such-release",
    "packages/missing",
    "interpreter/unsupported",
    "host/complained-of",
    "torch/cpu-only",
)


def _request(facts: Facts) -> tuple[str, str] | None:
    """The release and the digits of the line's label, where no other release and line are asked for too."""
    labelled = {(found["version"], found["line"]) for found in _every(facts, _LABELLED)}
    if labelled:
        return labelled.pop() if len(labelled) == 1 else None
    plain = {found["version"] for found in _every(facts, _PLAIN)}
    lines = {found["line"] for found in _every(facts, circumstances.AN_INDEX.said)}
    if len(plain) != 1 or len(lines) != 1 or "nightly" in " ".join(messages.everything(facts)):
        return None
    line = lines.pop()
    return None if lines_beside(f"{line[:-1]}.{line[-1]}") else (plain.pop(), line)


def _every(facts: Facts, pattern: Pattern) -> list[Match[str]]:
    return [found for text in messages.everything(facts) for found in pattern.finditer(text)]


def _way(facts: Facts, number: str, cuda: str, lines: tuple[str, ...]) -> tuple[str, str]:
    """The next later line of this release that the same drivers run, else the next release that has the line."""
    packages, major = known(facts.packages), cuda.partition(".")[0]
    later = [line for line in lines if line.partition(".")[0] == major and versions.below(cuda, line)]
    other = release_with(cuda, beside=number)
    with_line = f"torch {other}, which has builds for CUDA {cuda}" if other else ""
    if later:
        line = min(later, key=lambda line: versions.release(line) or ())
        instead = f"; or take {with_line}" if other else ""
        # Before CUDA 11 a driver ran nothing that was built for a later minor release than its own.
        runs = (
            f"which drivers of CUDA {major} run as well"
            if int(major) >= 11
            else "where the driver is new enough for it"
        )
        text = f"Ask for CUDA {line}, {runs}{instead}. {_MATES}"
        return text, remedies.torch_family(packages, label_of(line), f"torch=={number}", anew=False)
    if not other:
        return f"Ask for a line that this release has (CUDA {', '.join(lines)}). {_MATES}", ""
    text = f"Take {with_line}; or, with a driver that runs it, a line of this release (CUDA {', '.join(lines)}). "
    return text + _MATES, remedies.torch_family(packages, label_of(cuda), f"torch=={other}.*", anew=False)


_MATES = "torchvision and torchaudio come from the same index, in the releases of that torch."
