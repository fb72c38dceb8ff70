from __future__ import annotations

import pytest

from envdoctor.facts.model import Driver, Facts, Gpu, Gpus, Host, Torch
from envdoctor.rules.torch.driver_too_old import driver_too_old
from tests.rules.cuda_machines import CPU_TARGET, brief, driver, machine, only, pasted, torch
from tests.rules.judging import locked, silent, skipped
from tests.rules.told import root

TOO_OLD = "CUDA initialization: The NVIDIA driver on your system is too old (found version {})."


def report(version: str, cuda: str | None, module: str | None, available: bool | None = None) -> Facts:
    return pasted(
        torch=Torch(version=version, cuda=cuda, cuda_available=available), driver=Driver(kernel_module=module)
    )


@pytest.mark.parametrize(
    "facts",
    [
        machine(driver=driver(kernel_module="570.124.06", cuda="12.8"), torch=torch(cuda_available=False)),
        report("1.3.1", "10.1.243", "410.48", available=False),
        report("2.6.0", None, "470.86"),  # PyPI's wheel of 2.6 is for CUDA 12.4
        report("2.15.0", None, "550.54.15"),
        pasted(TOO_OLD.format(12080)),
        pasted(TOO_OLD.format(11040), driver=Driver(kernel_module="470.86", cuda="11.4")),
        pasted(TOO_OLD.format(9010), torch=Torch(version="1.12.1+cu102", cuda="10.2")),
        pasted("CUDA driver version is insufficient for CUDA runtime version"),
        pasted(torch=Torch(version="2.9.0+cu130", cuda="13.0"), driver=Driver(cuda="12.8")),
        pasted(
            torch=Torch(version="2.1.0+cu121"),
            driver=Driver(kernel_module="512.78"),
            host=Host(system="Windows", machine="AMD64"),
        ),
    ],
)
def test_found(facts: Facts) -> None:
    assert brief(driver_too_old, facts) == ["error driver-too-old driver"]


@pytest.mark.parametrize(
    "facts",
    [
        machine(),
        report("2.6.0+cu124", "12.4", "550.54.15"),
        report("2.9.0.dev20250804+cu126", "12.6", "535.183.01"),  # minor-version compatibility
        report("2.0.0.dev20230203+cu117", "11.7", "510.85.02"),
        report("1.9.0", "10.2", "470.42.01"),
        report("2.3.1+cu121", "12.1", "525.89.02"),
        report("2.3.1+cu121", "12.1", "525"),  # only the branch is known
        report("2.15.0+cu130", "13.0", "535.183.01", available=True),  # a forward-compatibility library
        machine(driver=driver(kernel_module="535.183.01", cuda="13.0"), torch=torch(cuda_available=None)),
    ],
)
def test_healthy(facts: Facts) -> None:
    assert silent(driver_too_old, facts)


def test_not_judged() -> None:
    assert (
        skipped(driver_too_old, pasted(driver=Driver(kernel_module="470.86")))
        == "the CUDA version of torch is not known"
    )
    assert skipped(driver_too_old, pasted(torch=Torch(version="2.6.0"))) == "the driver's version is not known"
    assert skipped(driver_too_old, pasted(TOO_OLD.format(12080)), CPU_TARGET)


def test_who_can_help() -> None:
    """In a container the driver is the host's, unless another torch solves it; filters say what to rent instead."""
    old = driver(kernel_module="535.54.03", cuda="12.2")
    rented = only(driver_too_old, machine(driver=old, torch=torch(cuda_available=False), container="docker"))
    assert rented.who == "host"
    assert 'RunPod allowedCudaVersions ["13.0"' in rented.remedy.text
    assert "cuda_max_good>=13.0" in rented.remedy.text
    assert rented.remedy.commands == ("uv pip install --torch-backend=cu126 --reinstall-package torch 'torch==2.14.*'",)
    own = only(driver_too_old, machine(driver=old, torch=torch(cuda_available=False)))
    assert (own.who, "RunPod" in own.remedy.text) == ("you", False)
    stack = locked(cuda="12.6", torch="2.14.0+cu126")
    fixed = only(driver_too_old, machine(driver=old, torch=torch(cuda_available=False), container="docker"), stack)
    assert (fixed.who, [pin.version for pin in fixed.repair if hasattr(pin, "version")]) == ("you", ["2.14.0+cu126"])


def test_numbers_are_named() -> None:
    found = only(driver_too_old, report("1.3.1", "10.1", "410.48"))
    assert found.actual == "410.48"
    assert found.expected == "418.39 or later"
    assert "CUDA 10.1" in found.message


def test_a_blackwell_card_is_offered_the_last_build_for_its_driver() -> None:
    facts = pasted(
        torch=Torch(version="2.15.0+cu130"),
        driver=Driver(kernel_module="570.26"),
        gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA GeForce RTX 5090"),)),
    )
    assert only(driver_too_old, facts).remedy.commands == (
        "uv pip install --torch-backend=cu129 --reinstall-package torch --reinstall-package torchvision "
        "--reinstall-package torchaudio 'torch==2.13.*' 'torchvision' 'torchaudio'",
    )


INSUFFICIENT = "CUDA driver version is insufficient for CUDA runtime version"


def test_a_driver_that_nobody_saw_may_be_none() -> None:
    """CUDA gives the same error where there is no NVIDIA driver at all: nothing is said of one, or of its torch."""
    unseen = only(driver_too_old, pasted(INSUFFICIENT, torch=Torch(version="2.0.0+cu118")))
    assert "or none is reached" in unseen.message
    assert unseen.remedy.commands == ("nvidia-smi",)
    assert "train on the CPU" in unseen.remedy.text
    seen = only(
        driver_too_old, pasted(INSUFFICIENT, torch=Torch(version="2.0.0+cu118"), driver=Driver(kernel_module="440.33"))
    )
    assert "or none is reached" not in seen.message
    assert "440.33 cannot run" in seen.message


def test_a_processor_s_own_gpu_has_no_driver_of_nvidia_s() -> None:
    found = root(
        "Error CUDA driver version is insufficient for CUDA runtime version at line 167",
        "The GPU is an integrated one, Intel Iris Xe; torch==2.0.0+cu118",
    )
    assert found.kind == "gpu-not-visible"
    assert "driver of at least" not in found.remedy.text


def test_the_last_driver_of_a_card_is_not_to_be_updated() -> None:
    found = root("PyTorch version: 1.2.0", "CUDA used to build PyTorch: 10.0", "Nvidia driver version: 342.01")
    assert "compute capability 1.x" in found.message
    assert found.remedy.text.startswith("See which card it is")


def test_a_warning_in_passing_is_not_what_ended_the_run() -> None:
    warned = "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 9010)."
    found = root(warned, "TypeError: pad_center() takes 1 positional argument but 2 were given")
    assert found.subject == "librosa"


def test_a_driver_that_is_the_last_for_some_cards_says_nothing_of_others() -> None:
    old = Driver(kernel_module="390.77", cuda="9.1")
    assert "the last for Fermi" in only(driver_too_old, pasted(TOO_OLD.format(9010), driver=old)).message
    pascal = Gpus(devices=(Gpu(index=0, name="TITAN Xp"),))
    assert "Fermi" not in only(driver_too_old, pasted(TOO_OLD.format(9010), driver=old, gpus=pascal)).message
