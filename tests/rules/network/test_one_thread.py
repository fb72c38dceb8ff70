import pytest

from envdoctor.facts.model import Facts, Host, Launcher
from envdoctor.rules.network.one_thread import one_thread
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

SAID = "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid overload"
ONE = {"OMP_NUM_THREADS": "1", "LOCAL_WORLD_SIZE": "4"}


@pytest.mark.parametrize(
    "given",
    [Facts(messages=(SAID,)), Facts(variables=ONE, host=Host(cpus=64)), Facts(messages=(SAID,), host=Host(cpus=64))],
)
def test_one_thread_for_each(given: Facts) -> None:
    (finding,) = findings(one_thread, given)
    assert (finding.kind, finding.severity) == ("thread-count", Severity.NOTE)


def test_an_offloaded_optimizer_needs_threads() -> None:
    launcher = Launcher(settings={"deepspeed_config.offload_optimizer_device": "cpu", "num_processes": "4"})
    (finding,) = findings(one_thread, Facts(launcher=launcher, variables=ONE, host=Host(cpus=64)))
    assert (finding.severity, finding.expected) == (Severity.WARNING, "16")


@pytest.mark.parametrize(
    "given",
    [
        Facts(variables={"OMP_NUM_THREADS": "8", "LOCAL_WORLD_SIZE": "4"}, host=Host(cpus=64)),
        Facts(variables=ONE, host=Host(cpus=4)),
        Facts(variables={"LOCAL_WORLD_SIZE": "4"}, host=Host(cpus=64)),
    ],
)
def test_chosen_or_no_more_to_give(given: Facts) -> None:
    assert silent(one_thread, given)


def test_one_process_is_not_a_launcher() -> None:
    assert skipped(one_thread, Facts(variables={"OMP_NUM_THREADS": "1"}, host=Host(cpus=64)))
