from envdoctor.rules.rule import ERROR, Facts, Findings, Skip, Target, Unavailable, finding, rule


@rule(ERROR, kind="not-judged")
def no_stack(facts: Facts, target: Target) -> Findings:
    """No stack of the target can be installed here.

    Why: a target was asked for, and each of its lockfiles is for another Python, another machine or a newer driver. So
    nothing was compared with it and nothing can be installed from it; silence would pass for agreement.
    Fix: make an environment with a Python that a stack is locked for, or lock a stack for this one.
    Source: https://packaging.python.org/en/latest/specifications/pylock-toml/ (requires-python, environments)
    """
    if target.choice is not None:
        return
    if not target.asked:
        raise Skip("no target was asked for")
    if target.is_cpu and not target.stacks:
        raise Skip(f"target {target.name} lists no stacks")
    if isinstance(facts.interpreter, Unavailable):
        raise Skip(facts.interpreter.reason)
    for reason in target.refused or (f"{target.name}: {target.no_choice or 'it lists no stacks'}",):
        yield finding(
            subject=reason.replace(":", " ").partition(" ")[0],
            actual="does not fit",
            expected=f"a stack of {target.name} for Python {facts.interpreter.version}",
            message=f"Nothing was compared with {target.name}, which was asked for: {reason}.",
            fix="Use a Python that a stack of the target is locked for, or lock one for this Python.",
        )
