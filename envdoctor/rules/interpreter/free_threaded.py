from envdoctor.knowledge.questions import versions
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Remedy, finding, need, rule


@rule(NOTE, kind="interpreter", subject="python", expected="the build with the global lock")
def free_threaded(facts: Facts) -> Findings:
    """Python runs without its global lock.

    Why: single-threaded code is slower there (the documentation says about 40 % in 3.13, 5 to 10 % in 3.14), many
    packages have no wheels for it, and some switch the lock on again. A training loop is single-threaded Python
    that launches kernels.
    Fix: the ordinary build of the same version.
    Source: https://docs.python.org/3.13/howto/free-threading-python.html
    https://docs.python.org/3.14/howto/free-threading-python.html
    """
    interpreter = need(facts.interpreter)
    if not interpreter.free_threaded:
        return
    release = versions.release(interpreter.version)
    early = release is not None and release[:2] == (3, 13)
    slower = ": single-threaded code is about 40 % slower" if early else "; single-threaded code is somewhat slower"
    yield finding(
        actual=f"free-threaded {interpreter.version}",
        severity=WARNING if early else None,
        message=f"Python {interpreter.version} is the free-threaded build{slower}.",
        fix=Remedy(text="Use the ordinary build.", commands=("uv venv --python 3.12 .venv",)),
    )
