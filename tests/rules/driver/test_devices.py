from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts, Host, Launcher
from envdoctor.rules.driver.devices import devices
from tests.rules.cuda_machines import CPU_TARGET, brief, driver, gpus, machine, only, pasted, torch
from tests.rules.judging import locked, silent, skipped

DOWN = torch(cuda_available=False)


@pytest.mark.parametrize(
    ("facts", "subject"),
    [
        (machine(torch=DOWN, variables={"CUDA_VISIBLE_DEVICES": ""}), "CUDA_VISIBLE_DEVICES"),
        (machine(torch=DOWN, variables={"CUDA_VISIBLE_DEVICES": "-1"}), "CUDA_VISIBLE_DEVICES"),
        (machine(torch=DOWN, variables={"CUDA_VISIBLE_DEVICES": "[0,1]"}), "CUDA_VISIBLE_DEVICES"),
        (
            machine(torch=DOWN, driver=driver(devices=()), variables={"NVIDIA_VISIBLE_DEVICES": "void"}),
            "CUDA_VISIBLE_DEVICES",
        ),
        (pasted(launcher=Launcher(settings={"gpu_ids": "'[1,2,3,4]'"})), "CUDA_VISIBLE_DEVICES"),
        (machine(torch=DOWN, driver=driver(device_denied=("/dev/nvidia0",), cuinit=100)), "/dev/nvidia0"),
        (machine(driver=driver(devices=()), gpus=gpus(), container="docker"), "/dev/nvidia0"),
        (pasted("RuntimeError: No CUDA GPUs are available"), "/dev/nvidia0"),
        (pasted("CUDA error: no CUDA-capable device is detected"), "/dev/nvidia0"),
        (pasted("Failed to initialize NVML: Unknown Error"), "/dev/nvidia0"),
    ],
)
def test_found(facts: Facts, subject: str) -> None:
    assert brief(devices, facts) == [f"error gpu-not-visible {subject}"]


@pytest.mark.parametrize(
    "facts",
    [
        machine(),
        machine(variables={"CUDA_VISIBLE_DEVICES": "0,1"}),
        machine(variables={"CUDA_VISIBLE_DEVICES": ""}),  # set for somebody else: CUDA works
        machine(
            variables={"NVIDIA_VISIBLE_DEVICES": "void"}, torch=DOWN
        ),  # what device plugins set: the files are there
        machine(
            driver=driver(device_denied=("/dev/nvidia1", "/dev/nvidia2"))
        ),  # a scheduler keeps the others to itself
        machine(driver=driver(devices=(), pci=())),  # a container in view of its host's driver, and no GPU wanted
        pasted(launcher=Launcher(settings={"gpu_ids": "all"}), driver=driver()),
        pasted(launcher=Launcher(settings={"gpu_ids": "0,1"}), driver=driver()),
    ],
)
def test_healthy(facts: Facts) -> None:
    assert silent(devices, facts)


@pytest.mark.parametrize(
    "facts",
    [
        machine(
            torch=DOWN, driver=driver(cuinit=999, smi="Failed to initialize NVML: Unknown Error"), container="docker"
        ),
        machine(
            torch=DOWN,
            driver=driver(cuinit=304, device_denied=("/dev/nvidia0", "/dev/nvidiactl")),
            host=Host(system="Linux", container="kubernetes", uid=0),
        ),
    ],
)
def test_a_container_that_lost_its_gpu_is_started_again(facts: Facts) -> None:
    found = only(devices, facts)
    assert (found.who, found.remedy.commands) == ("host", ("docker restart CONTAINER",))
    assert "usermod" not in found.remedy.text


def test_a_gpu_target_wants_device_files() -> None:
    facts = machine(driver=driver(devices=(), pci=()), container="docker")
    found = only(devices, facts, locked(torch="2.15.0"))
    assert (found.who, found.remedy.commands) == ("image", ("docker run --gpus all ...",))


def test_not_judged() -> None:
    assert skipped(devices, pasted())
    assert skipped(devices, machine(torch=DOWN, variables={"CUDA_VISIBLE_DEVICES": ""}), CPU_TARGET)
