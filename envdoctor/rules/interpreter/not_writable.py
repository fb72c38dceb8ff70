from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def not_writable(facts: Facts, target: Target) -> Iterator[Finding]:
    """The environment belongs to somebody else and cannot be changed.

    Why: images often install as root and run as a user. Training works; repairs do not, and pip falls back to the
    home directory (`--user`), which then hides the environment's packages.
    Fix: an environment of your own, or have the image changed.
    Source: https://pip.pypa.io/en/stable/user_guide/#user-installs
    """
    interpreter = need(facts.interpreter)
    if interpreter.writable is False:
        place = interpreter.site_packages[0] if interpreter.site_packages else interpreter.prefix or "site-packages"
        yield Finding(
            kind="interpreter",
            subject="site-packages",
            actual=f"{place} is not writable",
            expected="writable by you",
            message=f"You may not change {place}; `envdoctor fix` cannot repair this environment.",
            remedy=Remedy(
                text="Make an environment of your own.",
                commands=("uv venv .venv", f"envdoctor fix --env .venv --target {target.name}")
                if target.name != "none"
                else ("uv venv .venv",),
            ),
            who="image",
        )
