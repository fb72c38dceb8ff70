from dataclasses import replace

from envdoctor.knowledge.extensions import build_of_torch, difference, read_label
from envdoctor.knowledge.questions import versions
from envdoctor.rules.image._contents import Contents, as_facts, every
from envdoctor.rules.image._installs import RequestedPackage
from envdoctor.rules.image._reading import ImageFile, at, findings_of, on_line, recipes
from envdoctor.rules.packages.extension_abi import extension_abi
from envdoctor.rules.packages.known_broken import known_broken
from envdoctor.rules.packages.known_conflicts import known_conflicts
from envdoctor.rules.packages.torch_pair import torch_pair
from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, Target, rule

_RULES = (torch_pair, known_conflicts, known_broken, extension_abi)


@rule(ERROR, kind="package-conflict")
def pins(facts: Facts, target: Target) -> Findings:
    """Versions in the file contradict each other.

    Why: torchvision, torchaudio, xformers and compiled wheels go with one torch; a second line with another version of
    the same package wins, whatever the first one said. The image builds, and fails on import.
    Fix: versions that belong together, in one command.
    Source: https://github.com/pytorch/vision#installation https://github.com/pytorch/pytorch/issues/157648
    https://docs.pytorch.org/audio/2.11.0/installation.html
    """
    for file, parsed in recipes(facts):
        for held in every(parsed):
            yield from _twice(file, held)
            seen = as_facts(facts, target, held)
            told: set[int] = set()
            for judge in _RULES:
                for found in findings_of(judge, seen, target):
                    wanted = _line(held, found)
                    if wanted is not None and (found.severity or judge.severity) >= WARNING and wanted.line not in told:
                        told.add(wanted.line)
                        # xformers' wheels require one torch exactly: there is no solution, or another torch.
                        exact = replace(found, severity=ERROR) if wanted.name == "xformers" else found
                        yield on_line(exact, judge, file, wanted.line)
            yield from _wheels(file, held, seen, told)


def _line(held: Contents, found: Finding) -> RequestedPackage | None:
    """The pin that a finding is about: of several names the one that stands last."""
    named = [held.pins[name] for name in found.subject.split() if name in held.pins]
    return max(named, key=lambda wanted: wanted.line, default=None)


def _twice(file: ImageFile, held: Contents) -> Findings:
    """The same package in two commands, with two versions."""
    before: dict[str, RequestedPackage] = {}
    for install in held.installs:
        for wanted in install.wanted if install.tool in ("pip", "uv") else ():
            first = before.get(wanted.name)
            if not wanted.version:
                continue
            if first is not None and not versions.same(first.version, wanted.version):
                yield at(
                    file,
                    wanted.line,
                    about=wanted.name,
                    kind="version-drift",
                    severity=WARNING,
                    message=f"{wanted.name} {wanted.version} replaces the {first.version} of line {first.line}.",
                    fix="Name each version once, in one command, so that the resolver sees both demands.",
                    instead=f"{wanted.name}=={first.version}, or line {first.line} with {wanted.version}",
                )
            before[wanted.name] = wanted


def _wheels(file: ImageFile, held: Contents, seen: Facts, told: set[int]) -> Findings:
    """A wheel given by its address, which was built for another torch, CUDA, Python or ABI than the image's."""
    torch = build_of_torch(seen)
    for wanted in (each for install in held.installs for each in install.wanted if each.wheel):
        built = read_label(versions.label(wanted.version) or "")
        if torch is not None and wanted.line not in told and (reason := difference(built, torch)):
            yield at(
                file,
                wanted.line,
                about=wanted.name,
                kind="extension-abi-mismatch",
                message=f"this wheel of {wanted.name} does not fit the image's torch: {reason}.",
                fix="Take the wheel whose name has this torch, CUDA, Python and C++ ABI.",
                instead=f"a wheel for {torch.text()}",
            )
