from __future__ import annotations

from envdoctor.rules.driver.forward_compatibility import forward_compatibility
from tests.rules.cuda_machines import brief, driver, machine
from tests.rules.judging import silent, skipped

OLD = {"kernel_module": "535.183.01", "management_library": "535.183.01", "cuda": "13.0"}


def test_noted() -> None:
    package = driver(**OLD, library="580.65.06", library_path="/usr/local/cuda/compat/libcuda.so.580.65.06")
    assert brief(forward_compatibility, machine(driver=package)) == ["note no-effect libcuda"]
    elsewhere = driver(**OLD, library="580.65.06", library_path="/usr/lib/x86_64-linux-gnu/libcuda.so.1")
    assert brief(forward_compatibility, machine(driver=elsewhere)) == ["note no-effect libcuda"]


def test_not_found() -> None:
    assert silent(forward_compatibility, machine())
    # a driver newer than the tables, with a CUDA version that they do not know
    assert silent(
        forward_compatibility, machine(driver=driver(kernel_module="650.1.2", library="650.1.2", cuda="14.0"))
    )
    assert skipped(forward_compatibility, machine(driver=driver(cuinit=804)))
