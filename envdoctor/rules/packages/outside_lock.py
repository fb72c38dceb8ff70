from envdoctor.knowledge.questions import TRAINING
from envdoctor.rules.rule import NOTE, Facts, Findings, Target, finding, need, rule

_TOOLS = frozenset({"pip", "setuptools", "wheel", "uv"})


@rule(NOTE, kind="version-drift", subject="not in the lock")
def outside_lock(facts: Facts, target: Target) -> Findings:
    """Packages are installed that the stack does not lock.

    Why: they are kept as they are. Those that take part in training (flash-attn, deepspeed ...) are named: they
    may change speed, and a baseline does not speak of them.
    Fix: nothing; or lock them too (`envdoctor lock`).
    Source: https://packaging.python.org/en/latest/specifications/pylock-toml/
    """
    packages = need(facts.packages)
    choice = need(target.choice, target.no_choice or "no stack was chosen for this machine")
    locked = {pin.name for pin in choice.pins}
    extra = sorted({d.name for d in packages.distributions} - locked - _TOOLS)
    if not extra:
        return
    named = [name for name in extra if name in TRAINING]
    more = len(extra) - len(named)
    said = ", ".join(named) + (f"{' and ' if named else ''}{more} other{'s' if more != 1 else ''}" if more else "")
    yield finding(
        actual=said,
        expected=f"the {len(locked)} packages of {choice.stack}",
        message=f"Installed, and not locked by {choice.stack}: {said}. They are kept.",
        fix="Nothing to do; a baseline speaks of the locked packages only.",
    )
