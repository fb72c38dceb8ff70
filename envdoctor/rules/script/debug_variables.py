from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Severity, Skip, Target, finding, rule, trains_on_gpu
from envdoctor.rules.script._variables import variables_left_on


@rule(WARNING, kind="debug-variable", expected="not set")
def debug_variables(facts: Facts, target: Target) -> Findings:
    """The script or launch file itself sets a debugging variable.

    Why: a variable that is set in code does not show in the shell, comes back after every ``unset``, and slows every
    run: CUDA_LAUNCH_BLOCKING=1 makes each kernel launch wait for its kernel.
    Fix: remove the line.
    Source: https://github.com/jishengpeng/WavTokenizer/issues/17
    https://github.com/horenbergerb/BernoulliDiffusion/issues/23
    """
    if not facts.scripts:
        raise Skip("no script was given")
    on_cpu = trains_on_gpu(facts, target) is False
    for script in facts.scripts:
        for place, row, value in variables_left_on(script):
            idle = on_cpu and row.cuda
            yield finding(
                subject=f"{place} {row.name}",
                actual=f"{row.name}={value}",
                severity=NOTE if idle else Severity[row.severity.upper()],
                message=f"{place} sets {row.name}={value}: {row.effect}{' (no effect on a CPU)' if idle else ''}.",
                fix=f"Remove {row.name} from {place}, or set it only while looking for a fault.",
                source=row.source,
            )
