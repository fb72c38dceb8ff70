from __future__ import annotations

import pytest

from envdoctor.facts.model import Distribution, Driver, Facts, Gpu, Gpus, Host, Launcher, Packages, Torch
from envdoctor.rules.rule import Pin
from envdoctor.rules.torch.cpu_only import cpu_only
from tests.rules.cuda_machines import ABSENT, CPU_TARGET, brief, driver, machine, only, pasted, torch
from tests.rules.judging import locked, silent, skipped
from tests.rules.told import root

CPU = torch(version="2.15.0+cpu", cuda="", cuda_available=False, arch_list=())
NAMED = Gpus(devices=(Gpu(index=0, name="NVIDIA GeForce RTX 3060 Laptop GPU"),))
CONDA = Packages(
    distributions=(Distribution(name="torch", version="1.11.0", build="py3.8_cpu_0"),),
    conda={"cudatoolkit": "11.3.1 h5"},
)


@pytest.mark.parametrize(
    "facts",
    [
        machine(torch=CPU),
        machine(torch=CPU, gpus=Gpus(), driver=Driver(kernel_module="", pci=("0000:01:00.0 10de:2330",))),
        pasted(torch=Torch(version="1.12.1", cuda=""), gpus=NAMED),
        pasted(torch=Torch(version="1.7.1+cpu"), host=Host(system="Windows", nvcc="10.2.89")),
        pasted(torch=Torch(version="1.11.0"), packages=CONDA),
        pasted(torch=Torch(version="2.1.0+cpu"), driver=Driver(kernel_module="535.54.03")),
        pasted(torch=Torch(version="2.1.0+cpu"), launcher=Launcher(settings={"distributed_type": "MULTI_GPU"})),
        pasted("AssertionError: Torch not compiled with CUDA enabled"),
        pasted("torch.cuda.is_available() is False", torch=Torch(version="2.7.0+cpu", cuda="")),
    ],
)
def test_found(facts: Facts) -> None:
    assert brief(cpu_only, facts) == ["error torch-cpu-only torch"]


@pytest.mark.parametrize(
    "facts",
    [
        machine(),
        machine(torch=CPU, gpus=Gpus(), driver=Driver(kernel_module="")),  # a machine without GPU
        machine(
            torch=CPU, gpus=Gpus(), driver=Driver(kernel_module="580.1")
        ),  # a container in view of its host's driver
        machine(torch=CPU, gpus=Gpus(), driver=driver(devices=()), container="docker"),  # and its bus
        pasted(torch=Torch(version="2.1.0+cpu")),
        pasted(torch=Torch(version="2.1.0+cu121"), gpus=NAMED),
        pasted(torch=Torch(version="2.9.0+rocm6.4", hip="6.4"), gpus=NAMED),
    ],
)
def test_not_found(facts: Facts) -> None:
    assert silent(cpu_only, facts)


def test_not_judged() -> None:
    assert skipped(cpu_only, machine(torch=ABSENT))
    assert skipped(cpu_only, machine(torch=CPU), CPU_TARGET) == "the target trains on the CPU"


def test_repair_is_the_locked_torch() -> None:
    """Also when only the label differs: 2.15.0+cpu counts as 2.15.0 for an installer, and has to go all the same."""
    found = only(cpu_only, machine(torch=CPU), locked(torch="2.15.0"))
    assert found.repair == (Pin(name="torch", version="2.15.0"),)
    assert found.remedy.commands == ("envdoctor fix --target h100",)
    assert found.who == "you"


def test_by_hand_names_a_line_that_the_driver_runs() -> None:
    facts = machine(
        torch=torch(version="2.8.0+cpu", cuda="", cuda_available=False), driver=Driver(kernel_module="570.26")
    )
    assert only(cpu_only, facts).remedy.commands == (
        "uv pip install --torch-backend=cu128 --reinstall-package torch 'torch==2.8.0'",
    )


def test_a_cuda_that_the_release_has_no_build_for() -> None:
    listed = (
        "pytorch                   2.5.1              py3.12_cpu_0    pytorch",
        "pytorch-cuda              11.7                 h778d358_5    pytorch",
        "pytorch-mutex             1.0                         cpu    pytorch",
    )
    assert "pytorch-cuda 11.7 was asked for" in root(*listed).message


def test_a_plan_of_conda_that_takes_a_build_for_processors() -> None:
    plan = "the environment gets `+ pytorch  1.12.1  cpu_py310h9dbd814_1  pkgs/main/linux-64     Cached`"
    assert "stands before pytorch among the channels" in root("An env from a file gets something else", plan).message


@pytest.mark.parametrize(
    "asked",
    [
        "Почему скрипт не видит CUDA?",
        "为什么找不到GPU?",
        "GPUを認識しない",
        "El script no reconoce la GPU",
        "Das Skript erkennt die GPU nicht",
        "Le GPU n'est pas détecté",
        "GPU를 인식하지 못해요",
        "Why does it not detect my GPU?",
    ],
)
def test_who_asks_for_the_gpu_means_one(asked: str) -> None:
    cut = 'Traceback (most recent call last):\n  File "run.py", line 7, in <module>\n    main()\n'
    assert root(f"{asked}\n\nUltralytics YOLOv8.2.1 Python-3.10.2 torch-2.3.1+cpu\n{cut}").rule == "torch/cpu-only"


def test_a_board_that_is_told_of_takes_nvidias_own_wheel() -> None:
    found = root('On an Orin it fails with "AssertionError: Torch not compiled with CUDA enabled".', "torch==2.5.0")
    assert found.rule == "torch/cpu-only"
    assert "JetPack" in found.remedy.text
    weights = root(
        "With the Xavier initialization it fails:",
        "AssertionError: Torch not compiled with CUDA enabled",
        "torch==2.5.0",
    )
    assert "JetPack" not in weights.remedy.text
