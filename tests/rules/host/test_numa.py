import pytest

from envdoctor.facts.model import Facts, Gpus, Host, Launcher
from envdoctor.rules.host.numa import numa
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, silent, skipped

TWO_NODES = Host(numa_nodes=2, cpus=128, affinity=128)


def test_several_nodes_and_nothing_binds() -> None:
    (finding,) = findings(numa, Facts(host=TWO_NODES, gpus=Gpus(count=8)))
    assert finding.severity is Severity.NOTE
    assert finding.remedy.commands[0] == "torchrun --nproc-per-node=8 --numa-binding=node train.py"


@pytest.mark.parametrize(
    "facts",
    [
        Facts(host=TWO_NODES, gpus=Gpus(count=1)),
        Facts(host=TWO_NODES),
        Facts(host=Host(numa_nodes=1), gpus=Gpus(count=8)),
        Facts(host=Host(numa_nodes=2, cpus=128, affinity=32), gpus=Gpus(count=8)),
        Facts(host=TWO_NODES, gpus=Gpus(count=8), launcher=Launcher(settings={"enable_cpu_affinity": "True"})),
    ],
    ids=["one GPU", "GPUs unknown", "one node", "bound by its affinity", "bound by accelerate"],
)
def test_healthy(facts: Facts) -> None:
    assert silent(numa, facts)


def test_unknown_is_skipped() -> None:
    assert skipped(numa, Facts())
