import pytest

from envdoctor.facts.model import Host
from envdoctor.rules.rule import Severity
from envdoctor.rules.torch.thread_pool import thread_pool
from tests.rules.cuda_machines import only, pasted
from tests.rules.judging import silent, skipped


@pytest.mark.parametrize(
    "line",
    [
        "libgomp: Thread creation failed: Resource temporarily unavailable",
        "OpenBLAS blas_thread_init: pthread_create failed for thread 5 of 64: Resource temporarily unavailable",
        "OMP: Error #34: System unable to allocate necessary resources for OMP thread:",
    ],
)
def test_threads_that_cannot_be_started_are_an_error(line: str) -> None:
    found = only(thread_pool, pasted(line, host=Host(cpus=64, cpu_quota=8.0)))
    assert (found.kind, found.severity) == ("thread-count", Severity.ERROR)
    assert found.remedy.commands[0] == "export OMP_NUM_THREADS=8"


@pytest.mark.parametrize(
    "line",
    [
        "thread oversubscription: 192 threads for 8 CPUs",
        "the thread pool is sized from the host and ignores the cgroup quota",
        "45 times slower with 8 threads than with 4",
        "too many OpenMP threads for this container",
    ],
)
def test_too_many_threads_are_a_warning(line: str) -> None:
    found = only(thread_pool, pasted(line))
    assert (found.kind, found.severity) == ("thread-count", Severity.WARNING)


@pytest.mark.parametrize(
    "line",
    [
        "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default",
        "RuntimeError: CUDA out of memory",
        "the main thread was killed",
    ],
)
def test_other_lines_about_threads_are_left_alone(line: str) -> None:
    assert silent(thread_pool, pasted(line))


def test_without_error_lines_it_is_skipped() -> None:
    assert skipped(thread_pool, pasted())


def test_threads_that_are_not_permitted_are_refused_by_a_filter_and_no_limit() -> None:
    line = "OpenBLAS blas_thread_init: pthread_create failed for thread 1 of 4: Operation not permitted"
    found = only(thread_pool, pasted(line))
    assert "clone3" in found.message
    assert "seccomp" in found.remedy.text
