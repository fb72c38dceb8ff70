from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import defective, versions
from envdoctor.knowledge.defects import SLOW
from envdoctor.rule import Finding, Severity, known, need, rule
from envdoctor.target import Target

_MENDED = "9.15"  # with this cuDNN, torch 2.9.1 uses it for Conv3d again


@rule(Severity.WARNING)
def known_slow(facts: Facts, target: Target) -> Iterator[Finding]:
    """A release that is known to be slow is installed.

    Why: upgrades move speed both ways, and some regressions are public: torch 2.9 keeps bf16 Conv3d away from
    cuDNN (vision and video models, 4 to 20 times slower). Where nothing shows that the model has such a layer, it
    is a note.
    Fix: the release named.
    Source: https://github.com/pytorch/pytorch/issues/174051 https://github.com/pytorch/pytorch/issues/166122
    https://github.com/unslothai/unsloth/blob/main/unsloth/import_fixes.py
    """
    need(facts.packages)
    mended = _mended(facts)
    for finding in defective.found(SLOW, facts, target, "known-slow-version", rank=12):
        if not (mended and finding.subject == "torch" and finding.actual.startswith("2.9.1")):
            yield finding


def _mended(facts: Facts) -> bool:
    """Was a newer cuDNN installed beside torch 2.9.1, as its release notes advise?"""
    torch, packages = known(facts.torch), known(facts.packages)
    wheels = [packages.version(f"nvidia-cudnn-cu{major}") for major in (12, 13)] if packages else []
    found = [version for version in (*wheels, torch.cudnn if torch else None) if version]
    return any(versions.at_least(version, _MENDED) for version in found)
