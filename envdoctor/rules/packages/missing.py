from envdoctor.rules.packages import _apart
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Severity, Target, finding, rule

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
    absent = _apart.absent(facts, target)
    needed = _apart.who_needs(facts, target, absent)
    torch = [each for each in absent if each.name == "torch"]
    if torch:
        yield from _findings(target, torch, None, "")
    groups: dict[Severity, _apart.Differences] = {ERROR: [], WARNING: [], NOTE: []}
    for each in absent:
        if each in torch or (each.name == "triton" and not torch):  # packages/triton-pair knows who needs that
            continue
        wished = target.is_own or (not torch and each.name in IMPORTED)
        groups[ERROR if each.name in needed else WARNING if wished else NOTE].append(each)
    for severity, group in groups.items():
        if group:
            yield from _findings(target, group, severity, needed.get(group[0].name, "torch"))


def _findings(target: Target, found: _apart.Differences, severity: Severity | None, needed_by: str) -> Findings:
    stack, first, whole = target.choice.stack if target.choice else "", found[0], len(found) == 1
    for_whom = {
        ERROR: f"; {needed_by} needs {'it' if whole else 'some of them'}",
        WARNING: "" if target.is_own else "; only the bundled trainer needs " + ("it" if whole else "them"),
        NOTE: "; nothing that is installed needs " + ("it" if whole else "them"),
    }
    tail = for_whom[severity] if severity is not None else ""
    if whole:
        message = f"{first.name} is not installed; {stack} locks {first.locked}{tail}."
        subject, expected, advice = first.name, first.locked, f"Install {first.name} {first.locked}."
    else:
        named = _apart.listing([each.name for each in found], _NAMED)
        message = f"{len(found)} packages of {stack} are not installed: {named}{tail}."
        subject, expected, advice = f"{len(found)} packages", stack, "Install the locked versions."
    # Certain of torch alone: what needs the others may never run.
    yield finding(
        severity=severity,
        subject=subject,
        actual="not installed",
        expected=expected,
        message=message,
        fix=_apart.to_lock(target, found, advice),
        explains=("torch/",) if severity is None else (),
        certain=severity is None,
        rows=_apart.rows(found),
    )
