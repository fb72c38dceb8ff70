from envdoctor.knowledge.questions import whole_cpus
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Skip, anywhere, finding, known, rule

_REFUSED = (
    Pattern(r"(?i)libgomp: Thread creation failed.*"),
    Pattern(r"(?i)blas_thread_init: pthread_create.*"),
    Pattern(r"(?i)pthread_create failed.*Resource temporarily unavailable"),
    Pattern(r"OMP: Error #(?:34|35).*"),
    Pattern(r"(?i)(?:can't|cannot|unable to) (?:start|create) (?:a )?new thread.*(?:omp|blas|torch).*"),
)
_THREADS = r"(?:threads?|thread (?:pools?|counts?))"
_CROWDED = (
    Pattern(r"(?i)(?:thread|cpu) over-?subscri.*"),
    Pattern(r"(?i)over-?subscri(?:bed|ption).{0,60}(?:thread|cpu|core|slow).*"),
    Pattern(r"(?i)too many (?:compute |torch |openmp |omp |mkl |blas |intra-?op )threads.*"),
    Pattern(
        rf"(?i){_THREADS}\b.{{0,80}}\b(?:ignor\w+|exceed\w*|more than|beyond|regardless of)\b.{{0,40}}"
        r"\b(?:quota|cgroups?|cpu limit|cpuset|cpus? allowed)\b.*",
    ),
    Pattern(
        rf"(?i)(?:slower|times as long|longer)\b.{{0,30}}\bwith \d{{1,6}} {_THREADS}\b.{{0,20}}\bthan with \d+.*"
        rf"|\d{{1,6}} (?:intra-?op |omp |torch )?{_THREADS}\b.{{0,60}}\bslower than with \d+.*",
    ),
    Pattern(r"(?i)(?:only )?(?:one|1|a single) (?:cpu )?(?:core|thread) (?:is |of \d+ |out of \d+ )*(?:used|busy).*"),
)


_EXPLAINED = ("torch/threads", "host/cpu-quota", "variables/thread-count", "host/process-limit")


@rule(ERROR, kind="thread-count", subject="thread pool", explains=_EXPLAINED)
def thread_pool(facts: Facts) -> Findings:
    """A compute library could not start its threads, or a report says that there are too many.

    Why: OpenMP and BLAS start a thread for every CPU of the host, whatever a container or a limit of processes
    allows. Where the limit is lower the process dies at import; where only the quota is lower, all threads wait for
    each other and for the next period.
    Fix: OMP_NUM_THREADS = CPUs allowed / processes on this machine, before Python starts.
    Source: https://github.com/pytorch/pytorch/issues/193859 https://github.com/ollama/ollama/issues/17916
    https://github.com/onyx-dot-app/onyx/pull/12351
    """
    if not facts.messages:
        raise Skip("the report has no error lines")
    refused = anywhere(facts, *_REFUSED)
    said = refused or anywhere(facts, *_CROWDED)
    if said is None:
        return
    host = known(facts.host)
    cpus = whole_cpus(host) if host else None
    fails, usually = ("cannot be started", _LIMIT) if refused else ("do not fit the CPUs allowed", "")
    fix, run = _FEWER, (f"export OMP_NUM_THREADS={cpus or '$(nproc)'}", "ulimit -u")
    if refused and "operation not permitted" in refused.string.lower():
        usually, fix, run = _FILTER, _NEWER_DOCKER, ("docker version", "")
    yield finding(
        actual=said[0],
        expected=f"{cpus} threads" if cpus else "as many threads as CPUs are allowed",
        severity=None if refused else WARNING,
        message=f"Compute threads {fails}: {said[0]}",
        usually=usually,
        fix=fix,
        run=run,
    )


_LIMIT = (
    "the limit of processes and threads is reached (of the user, or of the container), which counts those of every "
    "process and library; else memory for their stacks is out"
)
_FILTER = (
    "an old Docker (before 20.10.10), runc or libseccomp on the host refuses the call (clone3) by which the C library "
    "of a newer image starts threads: a limit that is reached gives another word, Resource temporarily unavailable"
)
_FEWER = "Set the number of threads before Python starts; raise the limit of processes where it is the limit."
_NEWER_DOCKER = (
    "Update Docker, with runc and libseccomp, on the host; until then start the container with --security-opt "
    "seccomp=unconfined. Fewer threads (OMP_NUM_THREADS=1) only go around the library that spoke."
)
