from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Remedy, finding, need, rule


@rule(WARNING, kind="interpreter", subject="user site", expected="not on the path")
def user_site(facts: Facts) -> Findings:
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
    yield finding(
        actual=interpreter.user_site,
        message=f"{interpreter.user_site} holds packages and is searched before the environment's own.",
        fix=Remedy(
            text="Leave it out of the run, or uninstall what is in it.", commands=("export PYTHONNOUSERSITE=1",)
        ),
        severity=None if shadowing else NOTE,  # a plain Python is meant to see it
    )
