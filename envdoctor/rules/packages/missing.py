from collections.abc import Mapping, Sequence

from envdoctor.knowledge.questions import TRAINING, requirements
from envdoctor.locks.comparison import Difference, differences
from envdoctor.rules.finding import Finding, Findings, Pin, Row, Severity, finding
from envdoctor.rules.hardware import other_framework
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Packages, Skip, Target, known, need, remedies, rule

IMPORTED = frozenset("torch transformers accelerate datasets peft safetensors tokenizers numpy".split())
"""What the bundled trainer itself imports. The rest of a stack is needed by the locked versions of these."""
_NAMED = 6


@rule(ERROR, kind="package-missing")
def missing(facts: Facts, target: Target) -> Findings:
    """Packages of the target's stack are not installed.

    Why: without torch, or without what an installed package of the training requires, nothing starts (error). What
    only the bundled trainer imports is a warning: your own script may do without it; so is all that a lock of your own
    names. What neither needs is noted. A pasted list that is filtered proves no absence.
    Fix: install the locked versions.
    Source: the stack's lockfile; https://packaging.python.org/en/latest/specifications/pylock-toml/
    """
    packages = need(facts.packages)
    choice = need(target.choice, target.no_choice or "no stack was chosen for this machine")
    if not packages.complete:
        raise Skip("the list of packages is not complete")
    if not target.asked and (other := other_framework(facts)) is not None:
        raise Skip(f"this environment trains with {other}")
    absent = [each for each in differences(packages, choice.pins, choice.cuda) if each.relation == "missing"]
    interpreter, pins = known(facts.interpreter), {pin.name for pin in choice.pins}
    needed = _required_by(packages, {each.name for each in absent}, pins, interpreter.markers if interpreter else {})
    torch = next((each for each in absent if each.name == "torch"), None)
    if torch is not None:
        yield _finding([torch], choice.stack, target, None, explains=("torch/",))
    groups: dict[Severity, list[Difference]] = {ERROR: [], WARNING: [], NOTE: []}
    for each in absent:
        if each is torch or (each.name == "triton" and torch is None):  # packages/triton-pair knows who needs that
            continue
        wished = target.is_own or (torch is None and each.name in IMPORTED)
        groups[ERROR if each.name in needed else WARNING if wished else NOTE].append(each)
    for severity, group in groups.items():
        if group:
            yield _finding(group, choice.stack, target, severity, needed=needed)


def _required_by(packages: Packages, names: set[str], pins: set[str], markers: Mapping[str, str]) -> dict[str, str]:
    """Which of these names an installed package of the training, or of the stack, requires, and which that is."""
    found: dict[str, str] = {}
    for distribution in packages.distributions if names else ():
        if distribution.name not in TRAINING and distribution.name not in pins:
            continue
        for line in distribution.requires:
            wanted = requirements.read(line)
            if wanted is not None and wanted.name in names and requirements.holds(wanted.marker, markers) is True:
                found.setdefault(wanted.name, distribution.name)
    return found


def _finding(
    found: Sequence[Difference],
    stack: str,
    target: Target,
    severity: Severity | None,
    *,
    needed: Mapping[str, str] | None = None,
    explains: tuple[str, ...] = (),
) -> Finding:
    first = found[0]
    for_whom = {
        ERROR: f"; {(needed or {}).get(first.name, 'torch')} needs {'it' if len(found) == 1 else 'some of them'}",
        WARNING: "" if target.is_own else "; only the bundled trainer needs " + ("it" if len(found) == 1 else "them"),
        NOTE: "; nothing that is installed needs " + ("it" if len(found) == 1 else "them"),
    }
    tail = for_whom[severity] if severity is not None else ""
    if len(found) == 1:
        message = f"{first.name} is not installed; {stack} locks {first.locked}{tail}."
        subject, expected, advice = first.name, first.locked, f"Install {first.name} {first.locked}."
    else:
        named = ", ".join(each.name for each in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        message = f"{len(found)} packages of {stack} are not installed: {named}{more}{tail}."
        subject, expected, advice = f"{len(found)} packages", stack, "Install the locked versions."
    return finding(
        severity=severity,
        subject=subject,
        actual="not installed",
        expected=expected,
        message=message,
        fix=remedies.repair(target, advice),
        explains=explains,
        certain=severity is None,  # torch; what needs the others may never run
        repair=tuple(Pin(name=each.name, version=each.locked) for each in found),
        rows=tuple(Row(subject=each.name, actual="not installed", expected=each.locked) for each in found),
    )
