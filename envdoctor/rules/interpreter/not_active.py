from envdoctor.rules.rule import NOTE, Facts, Findings, Remedy, finding, need, rule, shell


@rule(NOTE, kind="interpreter", subject="active environment")
def not_active(facts: Facts) -> Findings:
    """The environment examined is not the one that is active in this shell.

    Why: `python` in this shell starts another environment than the one judged here.
    Fix: activate it, or name the active one with --env.
    Source: https://docs.python.org/3/library/venv.html#how-venvs-work
    """
    interpreter = need(facts.interpreter)
    active, examined = interpreter.active_environment, interpreter.prefix
    if not active or not examined or _same(active, examined):
        return
    activate = Remedy(text="Activate the environment.", commands=(f"source {shell.word(f'{examined}/bin/activate')}",))
    text = f"{examined} was examined, but {active} is active in this shell."
    yield finding(actual=active, expected=examined, message=text, fix=activate)


def _same(one: str, other: str) -> bool:
    return one.replace("\\", "/").rstrip("/") == other.replace("\\", "/").rstrip("/")
