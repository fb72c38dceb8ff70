"""From a row of the defects' tables to a finding: one shape for broken and for slow releases."""

from typing import Literal

from envdoctor.knowledge.broken import KnownRelease, releases
from envdoctor.knowledge.questions import installed, line_of, platform_of, torch_cuda, versions
from envdoctor.rules.rule import (
    Facts,
    Findings,
    Packages,
    Pattern,
    Severity,
    Target,
    finding,
    known,
    likely_capabilities,
    remedies,
)
from envdoctor.rules.torch import _cudnn_release

_SLOW = Pattern(r"(?i)\b(?:slow|slower|slowness|times as long|takes longer|\d+ ?x longer)\b")


def release_findings(kind: Literal["broken", "slow"], facts: Facts, target: Target) -> Findings:
    """One finding for each row whose release is installed; its severity says whether the rest holds too."""
    packages, present = known(facts.packages), installed.with_torch(facts)
    if (interpreter := known(facts.interpreter)) is not None:
        present["python"] = interpreter.version
    for row in releases(kind, present):
        version = present[row.package]
        if not _concerns(row, version, facts):
            continue
        fits = _so_built(row, facts, target)
        if fits is False:
            continue
        full = (fits or bool(row.symptom)) and _together(row, packages) and _has_hint(row, facts)
        if kind == "slow" and row.otherwise != "none" and _complains(facts):
            full = True
        word = row.severity if full else row.otherwise
        if word == "none":
            continue
        yield finding(
            kind="known-broken-version" if kind == "broken" else "known-slow-version",
            subject=row.package,
            actual=version,
            expected=row.instead,
            message=f"{row.package} {version}: {row.what}.",
            fix=remedies.from_lock(facts, target, row.package, row.advice, _command(row, facts)),
            severity=Severity[word.upper()],
            source=row.source,
            explains=("host/complained-of",) if full and row.symptom else (),
        )


def _concerns(row: KnownRelease, version: str, facts: Facts) -> bool:
    """Released versions only: a nightly of 2.9 was not 2.9.0 yet."""
    torch = known(facts.torch)
    if versions.prerelease(version) and row.package != "python":
        return False
    if row.where.os == "windows" and not platform_of(facts).startswith("win"):
        return False
    if row.where.build in ("rocm", "xpu"):
        return torch is not None and bool(torch.hip if row.where.build == "rocm" else torch.xpu)
    return row.where.build is None or line_of(version, torch.cuda if torch else None) != ""


def _together(row: KnownRelease, packages: Packages | None) -> bool:
    for wanted in row.beside:
        version = packages.version(wanted.name) if packages else None
        if version is None or (wanted.specifier and not versions.within(version, wanted.specifier)):
            return False
    return True


def _so_built(row: KnownRelease, facts: Facts, target: Target) -> bool | None:
    """GPU, Python, CUDA line and cuDNN, as far as the row asks for them; None when something of it is not known."""
    where, interpreter = row.where, known(facts.interpreter)
    fits: list[bool | None] = []
    if where.capability is not None:
        found = likely_capabilities(facts, target)
        fits.append(any(row.on_gpu(f"{major}.{minor}") for major, minor in found) if found else None)
    older = where.build.removeprefix("cuda") if where.build and "<" in where.build else None
    for version, specifier in (
        (interpreter.version if interpreter else None, where.python),
        (torch_cuda(facts) if older else None, older),
        (".".join(map(str, _cudnn_release.in_use(facts) or ())), where.cudnn),
    ):
        if specifier is not None:
            fits.append(versions.within(version, specifier) if version else None)
    return False if False in fits else None if None in fits else True


def _command(row: KnownRelease, facts: Facts) -> str:
    """For torch from the index of the driver's CUDA: PyPI's build for Windows has none."""
    command = "" if row.package == "python" else remedies.install(row.instead)
    if command and row.package == "torch" and platform_of(facts).startswith("win"):
        return remedies.install_releases("torch", row.instead, facts)
    return command


def _complains(facts: Facts) -> bool:
    """Does the report itself say that training is slow? Then a release that is known for it needs no other hint."""
    return any(_SLOW.search(line) for line in facts.messages)


def _has_hint(row: KnownRelease, facts: Facts) -> bool:
    if row.said is None:
        return True
    texts = (*facts.messages, *facts.remarks.values(), *(script.source for script in facts.scripts))
    return any(row.said.search(text) for text in texts)
