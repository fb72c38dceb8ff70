from envdoctor.rules.rule import ERROR, Facts, Findings, Skip, Target, finding, known, rule, trains_on_gpu


@rule(ERROR, kind="config-mismatch", subject="use_cpu", expected="the GPU is used")
def launcher_on_cpu(facts: Facts, target: Target) -> Findings:
    """The launcher's saved configuration keeps training on the CPU.

    Why: accelerate's default configuration is asked once and forgotten. With use_cpu it hides every GPU from what it
    launches, and nothing is printed.
    Fix: use_cpu: false.
    Source: https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-config
    """
    launcher = known(facts.launcher)
    # Where a setting may stand: the launcher's configuration, variables, and further lines of a report.
    places = (launcher.settings if launcher else {}, known(facts.variables) or {}, facts.remarks)
    settings = [(name, value) for given in places for name, value in given.items()]
    if not settings:
        raise Skip("no launcher's configuration is known")
    forced = next((f"{name}: {value}" for name, value in settings if _keeps_on_cpu(name, value)), None)
    if forced is None or trains_on_gpu(facts, target) is not True:
        return
    yield finding(
        actual=forced,
        message=f"The launcher's configuration says {forced}, so what it starts stays on the CPU despite the GPU.",
        fix="Answer the configuration's questions again, or set use_cpu to false in it.",
        run=("accelerate config default", "accelerate launch train.py"),
    )


def _keeps_on_cpu(name: str, value: str) -> bool:
    name, on = name.lower().replace("-", "_"), value.strip("'\" ").lower() in ("true", "yes", "1")
    if name == "distributed_type":
        return value.strip("'\"").upper() == "MULTI_CPU"
    return on and name in ("use_cpu", "accelerate_use_cpu", "no_cuda", "cpu_only", "force_cpu", "--cpu", "--no_cuda")
