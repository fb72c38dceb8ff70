from envdoctor.rules.rule import NOTE, Facts, Findings, Skip, finding, known, need, rule, shell


@rule(NOTE, kind="interpreter", subject="pip", expected="pip, or uv from outside")
def no_pip(facts: Facts) -> Findings:
    """The environment has no pip.

    Why: training does not need it; commands that say `python -m pip` fail, and tools that call pip to list packages
    (torch's collect_env among them) report none. An environment that uv alone has filled has none on purpose: that is
    no news to anybody, and silence.
    Fix: use `uv pip`, or install pip into it.
    Source: https://docs.astral.sh/uv/pip/environments/ https://github.com/vllm-project/vllm/issues/13888
    """
    packages = need(facts.packages)
    if facts.origin.kind == "pasted" or not packages.complete:
        raise Skip("a pasted report does not say whether pip is installed")
    if packages.pip or packages.version("pip"):
        return
    if packages.distributions and all(each.installer == "uv" for each in packages.distributions):
        return
    interpreter = known(facts.interpreter)
    python = shell.word((interpreter.executable if interpreter else None) or "python")
    yield finding(
        actual="not installed",
        message="pip is not installed in this environment; `python -m pip` does not work there.",
        fix="Use uv from outside, or install pip.",
        run=(f"uv pip list --python {python}", f"uv pip install --python {python} pip"),
    )
