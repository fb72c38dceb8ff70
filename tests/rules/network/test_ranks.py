import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus, Launcher, Origin
from envdoctor.rules.network.ranks import ranks
from tests.rules.judging import findings, silent, skipped

TWO = Gpus(count=2)


@pytest.mark.parametrize(
    "given",
    [
        Facts(gpus=TWO, variables={"LOCAL_WORLD_SIZE": "4"}),
        Facts(gpus=TWO, variables={"WORLD_SIZE": "16", "NNODES": "4"}),
        Facts(gpus=TWO, launcher=Launcher(settings={"num_processes": "8"})),
        Facts(gpus=Gpus(count=8), variables={"LOCAL_WORLD_SIZE": "4", "CUDA_VISIBLE_DEVICES": "0,1"}),
    ],
)
def test_more_processes_than_gpus(given: Facts) -> None:
    (finding,) = findings(ranks, given)
    assert finding.kind == "config-mismatch"
    assert "share a GPU" in finding.message


@pytest.mark.parametrize(
    "given",
    [
        Facts(gpus=TWO, variables={"LOCAL_WORLD_SIZE": "2"}),
        Facts(gpus=TWO, variables={"WORLD_SIZE": "8", "NNODES": "4"}),
        Facts(gpus=TWO, launcher=Launcher(settings={"num_processes": "16", "num_machines": "8"})),
        Facts(gpus=TWO, launcher=Launcher(settings={"num_processes": "8", "use_cpu": "True"})),
        Facts(gpus=TWO, variables={"WORLD_SIZE": "many"}),
    ],
)
def test_enough_gpus(given: Facts) -> None:
    assert silent(ranks, given)


def test_one_gpu_taken_twice_is_not_said_to_be_too_many_processes() -> None:
    said = "Duplicate GPU detected : rank 3 and rank 0 both on CUDA device 3000"
    (finding,) = findings(ranks, Facts(messages=(said,)))
    assert "Usually each takes the same one" in finding.message


def test_a_number_that_is_not_there_may_be_that_of_a_single_process() -> None:
    (finding,) = findings(ranks, Facts(messages=("RuntimeError: CUDA error: invalid device ordinal",)))
    assert finding.message.startswith("A GPU was asked for by a number that this process does not have")
    assert "more processes are started" in finding.message
    assert "map_location" in finding.remedy.text


def test_a_report_that_names_one_gpu_may_come_from_a_machine_of_eight() -> None:
    given = Facts(
        origin=Origin(kind="pasted"),
        gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA A100"),)),
        launcher=Launcher(settings={"num_processes": "8"}),
    )
    assert skipped(ranks, given)


def test_parts_of_a_gpu_are_left_to_the_row_that_knows_them() -> None:
    line = "RuntimeError: CUDA error: invalid device ordinal"
    assert silent(ranks, Facts(messages=(line, "GPU 0: MIG 1g.10gb Device 0: (UUID: MIG-a1b2)")))
    assert findings(ranks, Facts(messages=(line,)))
