"""Which rules are asked: those selected by name or family, less those ignored."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.errors import Trouble
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.checkup import CheckOptions
from envdoctor.rules.rule import Rule


def select_rules(options: CheckOptions) -> tuple[Rule, ...]:
    """The rules, less those that were deselected by name or family. Raises `Trouble` for a name that none has."""
    # Rules about scripts and images have nothing to say without them, and reading them takes a tenth of a second.
    if options.images:
        rules = tuple(rule for rule in load_rules() if rule.family == "image")
    else:
        rules = load_rules(("image",) if options.with_scripts else ("image", "script"))
    for option, names in (("--select", options.select), ("--ignore", options.ignore)):
        _require_known(option, names, rules)
    if options.select:
        rules = tuple(rule for rule in rules if _matches(rule, options.select))
    return tuple(rule for rule in rules if not _matches(rule, options.ignore))


def _require_known(option: str, names: Sequence[str], rules: Sequence[Rule]) -> None:
    """A gate that ignores a misspelt rule would believe that it ignores the right one."""
    if all(any(_matches(rule, (name,)) for rule in rules) for name in names):
        return
    known = {word for rule in load_rules() for word in (rule.name, rule.family)}
    for name in names:
        if name.rstrip("/") not in known:
            import difflib

            short = {word.rpartition("/")[2]: word for word in known}
            near = difflib.get_close_matches(name.rstrip("/"), [*sorted(known), *sorted(short)], n=1)
            remedy = f"Did you mean {short.get(near[0], near[0])}?" if near else "envdoctor rules lists them."
            raise Trouble(f"there is no rule or family {name!r}", where=option, remedy=remedy)


def _matches(rule: Rule, names: Sequence[str]) -> bool:
    return any(name in (rule.name, rule.family, f"{rule.family}/") for name in names)
