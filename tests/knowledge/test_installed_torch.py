"""Which torch is installed, told from sparse facts."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Distribution, Driver, Facts, Gpu, Gpus, Host, Packages, Torch, Unavailable
from envdoctor.knowledge.installed_torch import torch_build, torch_cuda, torch_version
from envdoctor.knowledge.machine import capabilities, driver_cuda, driver_version, machine_of


def packages(*pinned: str, **conda: str) -> Packages:
    listed = tuple(Distribution(name=name, version=version) for name, _, version in (p.partition("==") for p in pinned))
    return Packages(distributions=listed, conda={name.replace("_", "-"): text for name, text in conda.items()})


@pytest.mark.parametrize(
    ("facts", "version", "cuda"),
    [
        (Facts(torch=Torch(version="2.13.0+cpu", cuda="")), "2.13.0+cpu", ""),
        (Facts(torch=Torch(version="1.3.1", cuda="10.1.243")), "1.3.1", "10.1"),
        (Facts(torch=Torch(version="2.7.0+cu126")), "2.7.0+cu126", "12.6"),
        (Facts(torch=Torch(version="2.6.0")), "2.6.0", "12.4"),  # PyPI's wheel on Linux
        (Facts(torch=Torch(version="2.14.0")), "2.14.0", "13.0"),
        (Facts(torch=Torch(version="2.8.0.dev20250601")), "2.8.0.dev20250601", None),
        (Facts(torch=Torch(version="2.5.0a0+gitbda34441")), "2.5.0a0+gitbda34441", None),
        (Facts(torch=Torch(version="2.9.0+rocm6.4", hip="6.4")), "2.9.0+rocm6.4", ""),
        (Facts(torch=Torch(version="2.6.0"), host=Host(system="Windows", machine="x86_64")), "2.6.0", None),
        (Facts(packages=packages("torch==1.7.1+cpu")), "1.7.1+cpu", ""),
        (Facts(packages=packages("torch==2.4.0", "nvidia-cuda-runtime-cu12==12.4.127")), "2.4.0", "12.4"),
        (Facts(packages=packages(pytorch="1.11.0 py3.8_cpu_0 pytorch")), "1.11.0", ""),
        (Facts(packages=packages(pytorch="1.11.0 py3.8_cuda11.3_cudnn8.2.0_0 pytorch")), "1.11.0", "11.3"),
        (Facts(packages=packages(pytorch="2.1.0 cuda118_py310h255db67_300 conda-forge")), "2.1.0", "11.8"),
        (Facts(packages=packages(pytorch="2.1.0 cpu_mkl_py310h75865b9_102 conda-forge")), "2.1.0", ""),
        (Facts(), None, None),
    ],
)
def test_version_and_cuda(facts: Facts, version: str | None, cuda: str | None) -> None:
    assert (torch_version(facts), torch_cuda(facts)) == (version, cuda)


def test_build_prefers_what_torch_says_of_itself() -> None:
    own = torch_build(Facts(torch=Torch(version="2.7.0+cu126", cuda="12.6", arch_list=("sm_90",))))
    table = torch_build(Facts(torch=Torch(version="2.7.0+cu126", cuda="12.6")))
    assert own is not None
    assert table is not None
    assert own.kernels == ("sm_90",)
    assert "sm_50" in table.kernels
    assert torch_build(Facts(torch=Torch(version="2.13.0+cpu", cuda=""))) is None


@pytest.mark.parametrize(
    ("driver", "version"),
    [
        (Driver(kernel_module="580.65.06", library="570.1"), "580.65.06"),
        (Driver(kernel_module="", library="570.124.06"), "570.124.06"),
        (Driver(management_library="535.1"), "535.1"),
        (Driver(kernel_module=""), None),
        (Unavailable(reason="not asked"), None),
    ],
)
def test_driver_version(driver: Driver | Unavailable, version: str | None) -> None:
    assert driver_version(Facts(driver=driver)) == version


def test_driver_cuda() -> None:
    said = "The NVIDIA driver on your system is too old (found version 11040)."
    assert driver_cuda(Facts(messages=(said,), driver=Driver(cuda="12.2"))) == "11.4"
    assert driver_cuda(Facts(torch=Torch(version="2.1", cuda_error=said))) == "11.4"
    assert driver_cuda(Facts(driver=Driver(cuda="12.2"))) == "12.2"
    assert driver_cuda(Facts()) is None


def test_capabilities() -> None:
    named = Gpus(devices=(Gpu(index=0, name="Tesla T4"), Gpu(index=1, name="NVIDIA Odd", capability="9.0")))
    assert capabilities(Facts(gpus=named)) == ("7.5", "9.0")
    assert capabilities(Facts(torch=Torch(version="2", capabilities=("8.0",)))) == ("8.0",)
    assert capabilities(Facts(driver=Driver(pci=("0000:01:00.0 10de:20b2",)))) == ("8.0",)
    assert machine_of(Facts()).platform == "linux-x86_64"
