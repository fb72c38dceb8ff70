from collections.abc import Mapping
from itertools import chain

from envdoctor.knowledge.questions import CACHES_OFF, COMPILE_OFF, DEBUG, NCCL, PROFILERS
from envdoctor.rules.image._reading import ImageFile, Word, all_dockerfiles, all_services, at, require
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Severity, Target, on_cpu, rule

_TABLES = (DEBUG, COMPILE_OFF, CACHES_OFF, PROFILERS, NCCL)


@rule(WARNING, kind="debug-variable", expected="not set")
def debug_variables(facts: Facts, target: Target) -> Findings:
    """The image sets a debugging variable for every run.

    Why: what was set once to find a fault comes back with each container, where no shell shows it, and slows every run:
    CUDA_LAUNCH_BLOCKING=1 makes each kernel launch wait for its kernel.
    Fix: remove the line; set it for one run (`docker run -e`) while looking for a fault.
    Source: https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
    """
    require(facts)
    idle = on_cpu(target)
    for file, parsed in all_dockerfiles(facts):
        yield from _of(file, parsed.last.environment, idle)
    told: set[tuple[str, int, str]] = set()  # aliases give one line to many services
    for file, service in all_services(facts):
        for found in _of(file, service.environment, idle):
            key = (file.path, 0, found.subject)
            if key not in told:
                told.add(key)
                yield found


def _of(file: ImageFile, environment: Mapping[str, Word], idle: bool) -> Findings:
    for name, word in environment.items():
        for row in chain.from_iterable(rows.among((name,)) for rows in _TABLES):
            if row.active(word.text):
                yield at(
                    file,
                    word.line,
                    about=name,
                    severity=NOTE if idle and row.cuda else Severity[row.severity.upper()],
                    message=f"{name}={word.text} is set for every run: {row.effect}.",
                    fix=f"Remove {name}.",
                    instead=f"the same without {name}",
                    source=row.source,
                )
