from envdoctor.rules.image._reading import at, environments, variables_left_on
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Severity, Target, on_cpu, rule


@rule(WARNING, kind="debug-variable", expected="not set")
def debug_variables(facts: Facts, target: Target) -> Findings:
    """The image sets a debugging variable for every run.

    Why: what was set once to find a fault comes back with each container, where no shell shows it, and slows every run:
    CUDA_LAUNCH_BLOCKING=1 makes each kernel launch wait for its kernel.
    Fix: remove the line; set it for one run (`docker run -e`) while looking for a fault.
    Source: https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
    """
    idle = on_cpu(target)
    told: set[tuple[str, str]] = set()  # aliases give one line to many services
    for file, environment in environments(facts):
        for word, row in variables_left_on(environment):
            found = at(
                file,
                word.line,
                about=row.name,
                severity=NOTE if idle and row.cuda else Severity[row.severity.upper()],
                message=f"{row.name}={word.text} is set for every run: {row.effect}.",
                fix=f"Remove {row.name}.",
                instead=f"the same without {row.name}",
                source=row.source,
            )
            if (file.path, found.subject) not in told:
                told.add((file.path, found.subject))
                yield found
