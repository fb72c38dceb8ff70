from envdoctor.rules.rule import NOTE, Facts, Findings, Remedy, Skip, finding, need, rule

_PROCESS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@rule(NOTE, kind="config-mismatch", subject="RANK", expected="set by a launcher only")
def launcher_leftovers(facts: Facts) -> Findings:
    """Variables that a launcher sets for each rank are set in this shell.

    Why: RANK, WORLD_SIZE and MASTER_ADDR tell a process that it is one of several. In a plain shell they make a
    single run wait for ranks that never come, or disable what libraries do only on one process.
    Fix: unset them; torchrun and accelerate set their own.
    Source: https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables
    """
    if facts.origin.kind == "pasted":
        raise Skip("a report may come from inside a launched rank")
    variables = need(facts.variables)
    found = [name for name in _PROCESS if variables.get(name)]
    launched = any(name.startswith(("TORCHELASTIC_", "SLURM_")) for name in variables)
    if {"RANK", "WORLD_SIZE"} <= set(found) and not launched:
        text = f"{', '.join(found)} are set in this shell: a single run waits for other ranks."
        fix = Remedy(text="Unset them.", commands=("unset " + " ".join(found),))
        yield finding(actual=", ".join(f"{name}={variables[name]}" for name in found), message=text, fix=fix)
