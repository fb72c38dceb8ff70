from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.WARNING)
def user_site(facts: Facts, target: Target) -> Iterator[Finding]:
    """Packages in the home directory come before those of the environment.

    Why: outside a virtual environment, ~/.local/lib/pythonX.Y/site-packages is searched first. What `pip install
    --user` put there once hides the environment's versions, in this and every other Python of that version.
    Fix: PYTHONNOUSERSITE=1 for the run, or remove the directory.
    Source: https://docs.python.org/3/library/site.html#site.ENABLE_USER_SITE
    https://docs.python.org/3/using/cmdline.html#envvar-PYTHONNOUSERSITE
    """
    interpreter = need(facts.interpreter)
    if not interpreter.user_site:
        return
    shadowing = interpreter.is_conda or bool(interpreter.is_virtual)
    yield Finding(
        kind="interpreter",
        subject="user site",
        actual=interpreter.user_site,
        expected="not on the path",
        message=f"{interpreter.user_site} holds packages and is searched before the environment's own.",
        remedy=Remedy(
            text="Leave it out of the run, or uninstall what is in it.", commands=("export PYTHONNOUSERSITE=1",)
        ),
        severity=None if shadowing else Severity.NOTE,  # a plain Python is meant to see it
        root_rank=4,
    )
