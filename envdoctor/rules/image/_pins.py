"""What the rules for environments say of the versions that a file pins, and whether a wheel fits the image's torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from envdoctor.knowledge.extensions import build_of_torch, difference, read_label
from envdoctor.rules.image._contents import Contents
from envdoctor.rules.image._installs import RequestedPackage
from envdoctor.rules.packages.extension_abi import extension_abi
from envdoctor.rules.packages.known_broken import known_broken
from envdoctor.rules.packages.known_conflicts import known_conflicts
from envdoctor.rules.packages.torch_pair import torch_pair
from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Rule, Skip, Target, versions

_RULES = (torch_pair, known_conflicts, known_broken, extension_abi)


def pin_findings(held: Contents, seen: Facts, target: Target) -> dict[int, tuple[Finding, Rule]]:
    """Line -> the first of the warnings and errors about a package that is pinned there, and its rule."""
    told: dict[int, tuple[Finding, Rule]] = {}
    for judge in _RULES:
        for found in _findings_of(judge, seen, target):
            wanted = _pin(held, found)
            if wanted is not None and (found.severity or judge.severity) >= WARNING and wanted.line not in told:
                # xformers' wheels require one torch exactly: there is no solution, or another torch.
                told[wanted.line] = (replace(found, severity=ERROR) if wanted.name == "xformers" else found, judge)
    return told


def _pin(held: Contents, found: Finding) -> RequestedPackage | None:
    """The pin that a finding is about: of several names the one that stands last."""
    named = [held.pins[name] for name in found.subject.split() if name in held.pins]
    return max(named, key=lambda wanted: wanted.line, default=None)


def _findings_of(rule: Rule, facts: Facts, target: Target) -> tuple[Finding, ...]:
    """What a rule for environments says; nothing where it skips."""
    try:
        return tuple(rule(facts, target))
    except Skip:
        return ()


def pinned_twice(held: Contents) -> Iterator[tuple[RequestedPackage, RequestedPackage]]:
    """The same package in two commands, with two versions."""
    before: dict[str, RequestedPackage] = {}
    for install in held.installs:
        for wanted in install.wanted if install.tool in ("pip", "uv") else ():
            if wanted.version:
                first = before.get(wanted.name)
                before[wanted.name] = wanted
                if first is not None and not versions.same(first.version, wanted.version):
                    yield first, wanted


def misfits(held: Contents, seen: Facts) -> Iterator[tuple[RequestedPackage, str, str]]:
    """A wheel given by its address that was built for another torch, CUDA, Python or ABI, why, and what would fit."""
    torch = build_of_torch(seen)
    for wheel in (each for install in held.installs for each in install.wanted if each.wheel):
        label = versions.label(wheel.version) or ""
        if torch is not None and (reason := difference(read_label(label), torch)):
            yield wheel, reason, torch.text()
