from envdoctor.rules.rule import NOTE, Facts, Findings, Remedy, finding, need, rule


@rule(NOTE, kind="interpreter", subject="python", expected="a virtual environment")
def externally_managed(facts: Facts) -> Findings:
    """This is the operating system's Python, which pip may not change.

    Why: distributions mark their Python as managed by their own packages; pip refuses to install into it, and a
    change of ours would fight with the system's.
    Fix: a virtual environment.
    Source: https://packaging.python.org/en/latest/specifications/externally-managed-environments/
    """
    interpreter = need(facts.interpreter)
    if interpreter.externally_managed and not interpreter.is_virtual:
        yield finding(
            actual=interpreter.executable or "the system's Python",
            message="This Python is managed by the operating system; pip refuses to change it.",
            fix=Remedy(
                text="Work in a virtual environment.",
                commands=("uv venv --python 3.12 .venv", "source .venv/bin/activate"),
            ),
        )
