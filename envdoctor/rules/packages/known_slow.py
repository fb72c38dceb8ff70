from envdoctor.rules.packages import _releases
from envdoctor.rules.rule import WARNING, Facts, Findings, Target, need, rule


@rule(WARNING)
def known_slow(facts: Facts, target: Target) -> Findings:
    """A release that is known to be slow is installed.

    Why: upgrades move speed both ways, and some regressions are public: torch 2.9 keeps bf16 Conv3d away from
    cuDNN (vision and video models, 4 to 20 times slower). Where nothing shows that the model has such a layer, it
    is a note.
    Fix: the release named.
    Source: https://github.com/pytorch/pytorch/issues/174051 https://github.com/pytorch/pytorch/issues/166122
    https://github.com/unslothai/unsloth/blob/main/unsloth/import_fixes.py
    """
    need(facts.packages)
    yield from _releases.release_findings("slow", facts, target)
