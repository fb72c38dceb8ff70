from envdoctor.rules.packages import _demands
from envdoctor.rules.rule import ERROR, Facts, Findings, Target, finding, need, remedies, rule


@rule(ERROR, kind="package-conflict")
def conflicts(facts: Facts, target: Target) -> Findings:
    """An installed package demands another version of a package, or one that is absent.

    Why: packages check some of these demands at import and stop; others fail later, with an argument or an
    attribute that does not exist. A version above an upper limit often works all the same, and is a warning;
    demands of packages that take no part in training are only noted.
    Fix: install a version that all of them accept.
    Source: https://pip.pypa.io/en/stable/cli/pip_check/
    https://github.com/huggingface/transformers/blob/main/src/transformers/dependency_versions_check.py
    """
    packages = need(facts.packages)
    # Of no finding it is certain that it matters: limits are set before anybody could try, and often hold.
    for demand in _demands.unmet(facts, target):
        who, name = demand.by.name, demand.wanted.name
        wanted = f"{name}{demand.wanted.specifier}"
        found = f"{demand.version} is installed" if demand.version else "it is not installed"
        movable = name if remedies.locked_pins(target, packages, name) else who
        text, by_hand = f"Install a version that {who} accepts.", remedies.install(wanted)
        subject = f"{who} {name}"
        seen = demand.version or "not installed"
        message = f"{who} {demand.by.version} requires {wanted}, and {found}."
        fix = remedies.from_lock(facts, target, movable, text, by_hand)
        severity = demand.severity
        yield finding(
            subject=subject, actual=seen, expected=wanted, message=message, fix=fix, severity=severity, certain=False
        )
