from envdoctor.rules.rule import WARNING, Facts, Findings, Remedy, finding, need, rule


@rule(WARNING, kind="interpreter", subject="python", expected="release build")
def debug_build(facts: Facts) -> Findings:
    """Python was built with its debugging checks.

    Why: --with-pydebug checks reference counts and every allocation; the documentation advises it for debugging
    only. Everything that Python does between kernels is slower. It also needs packages built for it.
    Fix: an ordinary Python.
    Source: https://docs.python.org/3/using/configure.html#debug-build
    """
    interpreter = need(facts.interpreter)
    if interpreter.debug_build:
        yield finding(
            actual="debug build",
            message=f"Python {interpreter.version} is a debug build: all Python code is slower.",
            fix=Remedy(text="Use an ordinary Python.", commands=("uv venv --python 3.12 .venv",)),
        )
