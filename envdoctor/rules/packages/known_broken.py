from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import defective
from envdoctor.knowledge.defects import BROKEN
from envdoctor.rule import Finding, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.ERROR)
def known_broken(facts: Facts, target: Target) -> Iterator[Finding]:
    """A release with a known defect is installed.

    Why: some releases were withdrawn in practice: their successors fix them, and trainers exclude them by name.
    Each row says what must come together; where only the version matches, it is a note.
    Fix: the release named.
    Source: https://github.com/unslothai/unsloth/blob/main/pyproject.toml
    https://github.com/huggingface/trl/blob/main/pyproject.toml
    https://github.com/huggingface/diffusers/issues/9704
    """
    need(facts.packages)
    yield from defective.found(BROKEN, facts, target, "known-broken-version", rank=25)
