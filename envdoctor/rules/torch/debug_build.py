from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, finding, need, rule


@rule(WARNING, kind="known-slow-version", subject="torch", expected="release build")
def debug_build(facts: Facts) -> Findings:
    """torch was built for debugging.

    Why: a debug build checks on every call and is not optimised; operators on the CPU run several times slower, and
    launching kernels takes longer. Old releases said "Is debug build: True" of ordinary wheels; those are left alone.
    Fix: install a release build.
    Source: https://github.com/pytorch/pytorch/blob/main/CONTRIBUTING.md (DEBUG=1)
    https://github.com/pytorch/pytorch/issues/74733 (a 1.7.0 wheel that says so)
    """
    torch = need(facts.torch)
    need(torch.debug_build, "torch does not say how it was built")
    if not torch.debug_build or torch.version.startswith(("1.6", "1.7")):
        return
    # Whoever reports a debug build made from source made it on purpose.
    severity = NOTE if facts.origin.kind == "pasted" and "a0+" in torch.version else None
    message = f"torch {torch.version} is a debug build: every operator checks itself."
    fix, run = "Install a release build of torch.", "python -m pip install --force-reinstall torch"
    yield finding(actual="debug build", severity=severity, message=message, fix=fix, run=run)
