from envdoctor.rules.packages import _releases
from envdoctor.rules.rule import ERROR, Facts, Findings, Target, need, rule


@rule(ERROR)
def known_broken(facts: Facts, target: Target) -> Findings:
    """A release with a known defect is installed.

    Why: some releases were withdrawn in practice: their successors fix them, and trainers exclude them by name.
    Each row says what must come together; where only the version matches, it is a note.
    Fix: the release named.
    Source: https://github.com/unslothai/unsloth/blob/main/pyproject.toml
    https://github.com/huggingface/trl/blob/main/pyproject.toml
    https://github.com/huggingface/diffusers/issues/9704
    """
    need(facts.packages)
    yield from _releases.release_findings("broken", facts, target)
