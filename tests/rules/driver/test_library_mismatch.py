from __future__ import annotations

import pytest

from envdoctor.facts.model import Driver, Facts
from envdoctor.rules.driver.library_mismatch import library_mismatch
from tests.rules.cuda_machines import brief, driver, machine, only, pasted
from tests.rules.judging import silent, skipped


@pytest.mark.parametrize(
    "facts",
    [
        machine(driver=driver(library="570.124.06", cuinit=803)),
        machine(driver=driver(management_library="570.124.06", cuinit=None)),
        machine(driver=driver(smi="Failed to initialize NVML: Driver/library version mismatch", cuinit=999)),
        pasted("Failed to initialize NVML: Driver/library version mismatch"),
        pasted("NVML library version: 535.171"),
        pasted("NVRM: API mismatch: the client has the version 535.54, but this kernel module has the version 535.43"),
        pasted("nvidia-container-cli: initialization error: nvml error: driver/library version mismatch"),
    ],
)
def test_found(facts: Facts) -> None:
    assert brief(library_mismatch, facts) == ["error driver-library-mismatch driver"]


@pytest.mark.parametrize(
    "facts",
    [
        machine(),
        machine(driver=driver(library="595.45.04", library_path="/usr/local/cuda/compat/libcuda.so.1")),  # CUDA starts
        machine(driver=driver(library="1", cuinit=999)),  # a soname is no version
        machine(driver=driver(kernel_module="", library="580.65.06", cuinit=100)),
        machine(driver=driver(cuinit=802)),
    ],
)
def test_healthy(facts: Facts) -> None:
    assert silent(library_mismatch, facts)


def test_who_reboots() -> None:
    sick = driver(library="570.124.06", cuinit=803)
    own, rented = (only(library_mismatch, machine(driver=sick, container=name)) for name in ("", "docker"))
    assert (own.who, own.remedy.commands) == ("you", ("sudo reboot",))
    assert (rented.who, rented.remedy.commands) == ("host", ())
    assert "Do not install torch or CUDA again" in rented.remedy.text
    assert "580.65.06" in own.message
    assert "570.124.06" in own.message


def test_not_judged() -> None:
    assert skipped(library_mismatch, pasted(driver=Driver()))
