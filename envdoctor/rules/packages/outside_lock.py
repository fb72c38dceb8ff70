from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge.training import TRAINING
from envdoctor.rule import Finding, Remedy, Severity, Skip, need, rule
from envdoctor.target import Target

_TOOLS = frozenset({"pip", "setuptools", "wheel", "uv"})


@rule(Severity.NOTE)
def outside_lock(facts: Facts, target: Target) -> Iterator[Finding]:
    """Packages are installed that the stack does not lock.

    Why: they are kept as they are. Those that take part in training (flash-attn, deepspeed ...) are named: they
    may change speed, and a baseline does not speak of them.
    Fix: nothing; or lock them too (`envdoctor lock`).
    Source: https://packaging.python.org/en/latest/specifications/pylock-toml/
    """
    packages = need(facts.packages)
    if target.choice is None:
        raise Skip(target.no_choice or "no stack was chosen for this machine")
    locked = {pin.name for pin in target.choice.pins}
    extra = sorted({d.name for d in packages.distributions} - locked - _TOOLS)
    if not extra:
        return
    named = [name for name in extra if name in TRAINING]
    more = len(extra) - len(named)
    said = ", ".join(named) + (f"{' and ' if named else ''}{more} other{'s' if more != 1 else ''}" if more else "")
    yield Finding(
        kind="version-drift",
        subject="not in the lock",
        actual=said,
        expected=f"the {len(locked)} packages of {target.choice.stack}",
        message=f"Installed, and not locked by {target.choice.stack}: {said}. They are kept.",
        remedy=Remedy(text="Nothing to do; a baseline speaks of the locked packages only."),
    )
