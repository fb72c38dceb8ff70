import pytest

from envdoctor.facts.model import Facts, Gpus, Launcher
from envdoctor.rules.network.launcher_devices import launcher_devices
from tests.rules.judging import findings, silent, skipped


@pytest.mark.parametrize("text", ["'[1,2,3,4]'", "[0]", "cuda:0", "0;1", "gpu0,gpu1"])
def test_names_no_device(text: str) -> None:
    (finding,) = findings(launcher_devices, Facts(launcher=Launcher(settings={"gpu_ids": text})))
    assert (finding.kind, finding.subject) == ("gpu-not-visible", "gpu_ids")


def test_the_corrected_list() -> None:
    (finding,) = findings(launcher_devices, Facts(launcher=Launcher(settings={"gpu_ids": "'[1,2]'"})))
    assert finding.remedy.commands == ("accelerate launch --gpu_ids 1,2 train.py",)


@pytest.mark.parametrize(
    ("settings", "gpus"),
    [({"gpu_ids": "0,7"}, Gpus(count=4)), ({"gpu_ids": "0,1", "num_processes": "4"}, Gpus(count=4))],
)
def test_contradicts_the_machine(settings: dict[str, str], gpus: Gpus) -> None:
    (finding,) = findings(launcher_devices, Facts(launcher=Launcher(settings=settings), gpus=gpus))
    assert finding.kind == "config-mismatch"


@pytest.mark.parametrize("text", ["all", "'all'", "0,1,2,3", "0", "'2,3'", "GPU-aaaa,GPU-bbbb", "0, 1"])
def test_fine(text: str) -> None:
    assert silent(launcher_devices, Facts(launcher=Launcher(settings={"gpu_ids": text}), gpus=Gpus(count=4)))


def test_no_launcher() -> None:
    assert skipped(launcher_devices, Facts())


def test_fewer_processes_than_machines() -> None:
    facts = Facts(launcher=Launcher(settings={"num_machines": "2", "num_processes": "1"}))
    (finding,) = findings(launcher_devices, facts)
    assert (finding.kind, finding.subject, finding.expected) == ("config-mismatch", "num_processes", "at least 2")
    enough = Facts(launcher=Launcher(settings={"num_machines": "2", "num_processes": "16"}))
    assert silent(launcher_devices, enough)


def test_accelerate_refuses_one_id_for_several_gpus() -> None:
    line = "ValueError: Less than two GPU ids were configured and tried to run on on multiple GPUs."
    (finding,) = findings(launcher_devices, Facts(messages=(line,)))
    assert finding.kind == "config-mismatch"
