from envdoctor.rules.rule import NOTE, Facts, Findings, Target, finding, need, rule, shell


@rule(NOTE, kind="interpreter", subject="site-packages", expected="writable by you", who="image")
def not_writable(facts: Facts, target: Target) -> Findings:
    """The environment belongs to somebody else and cannot be changed.

    Why: images often install as root and run as a user. Training works; repairs do not, and pip falls back to the
    home directory (`--user`), which then hides the environment's packages.
    Fix: an environment of your own, or have the image changed.
    Source: https://pip.pypa.io/en/stable/user_guide/#user-installs
    """
    interpreter = need(facts.interpreter)
    if interpreter.writable is False:
        place = interpreter.site_packages[0] if interpreter.site_packages else interpreter.prefix or "site-packages"
        repaired = f"envdoctor fix --env .venv --target {shell.word(target.name)}"
        yield finding(
            actual=f"{place} is not writable",
            message=f"You may not change {place}; `envdoctor fix` cannot repair this environment.",
            fix="Make an environment of your own.",
            run="uv venv .venv" if target.name == "none" else ("uv venv .venv", repaired),
        )
