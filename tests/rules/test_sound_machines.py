"""Sound machines with the newest of everything: no error, at most two warnings, and never an unearned one.

Each row's expectation was written before the doctor saw it: the rules that may warn (mostly none) and the exit code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pytest

from envdoctor import doctor
from envdoctor.commands.check import exit_code
from envdoctor.facts.model import Driver, Facts, Gpus, Torch, Unavailable
from envdoctor.rules.checkup import CheckOptions
from envdoctor.rules.rule import Severity
from tests.rules.rented import interpreter, packages, processor, rented

CLOSED = ((True, False), (False, True))
DOCKER = {"container": "docker"}
WINDOWS = {"system": "Windows", "machine": "AMD64", "kernel": "11", "shm": None, "shm_free": None}
LINUX_ONLY = ("triton", "nvidia-cudnn-cu13", "nvidia-nccl-cu13", "liger-kernel")
JETSON = {"devices": ("/dev/nvidia0",), "open_module": True}


class Row(NamedTuple):
    name: str
    facts: Callable[[], Facts]
    target: str
    warns: tuple[str, ...] = ()
    exit: int = 0


NOT_TOLD = dict.fromkeys(
    "memory memory_used capability power_limit power_default utilization temperature throttle_reasons "
    "pcie_generation pcie_generation_max pcie_width pcie_width_max compute_mode processes".split()
)


def orin(*, nvml: bool, cuda: str = "12.6", devices: tuple[str, ...] = ("/dev/nvidia0",), works: bool = True) -> Facts:
    """An Orin with NVIDIA's torch for JetPack. JetPack 6 has an NVML that tells a name, earlier ones have none
    (github.com/ultralytics/ultralytics/pull/20680, github.com/vllm-project/vllm/issues/5640)."""
    facts = rented(
        "Orin",
        machine="aarch64",
        driver="540.4.0",
        torch="2.5.0a0+872d972e41.nv24.08",
        line="12.6",
        python="3.10.12",
        without=("nvidia-cudnn-cu12", "nvidia-nccl-cu12", "bitsandbytes", "liger-kernel"),
        extra={"torchvision": "0.20.0a0+afc54f7"},
        said={
            "arch_list": ("sm_87",), "capabilities": ("8.7",), "cudnn": "9.3.0", "cudnn_built": "9.3.0", "nccl": None,
        },
        host={"kernel": "5.15.148-tegra"},
        kernel={"devices": devices, "open_module": True, "cuda": cuda, "library": ""},
        board=NOT_TOLD,
    )  # fmt: skip
    gpus, driver, torch = facts.gpus, facts.driver, facts.torch
    assert isinstance(gpus, Gpus)
    assert isinstance(driver, Driver)
    assert isinstance(torch, Torch)
    if nvml:
        return replace(facts, gpus=replace(gpus, devices=(replace(gpus.devices[0], name="Orin (nvgpu)"),)))
    driver = replace(driver, management_library="", kernel_module="" if "nvhost" in devices[0] else "35.4.1")
    if not works:
        driver = replace(driver, cuinit=999)
        torch = replace(torch, cuda_available=False, device_count=0, capabilities=())
    absent = Unavailable(reason="NVML Shared Library Not Found", why="failed")
    return replace(facts, gpus=absent, driver=driver, torch=torch)


def rocm() -> Facts:
    facts = processor(torch="2.15.0+rocm7.2")
    torch = facts.torch
    assert isinstance(torch, Torch)
    return replace(
        facts,
        torch=replace(torch, hip="7.2.53211", cuda=None, cuda_available=True, device_count=1),
        driver=Driver(kernel_module="", library="", other_accelerators=("AMD 0000:c1:00.0 1002:74a1",)),
    )


def only(**installed: str) -> Facts:
    """An environment of another framework."""
    facts = processor()
    rows = tuple(
        replace(packages("0", "").distributions[0], name=n, version=v, requires=()) for n, v in installed.items()
    )
    whole = packages("0", "")
    return replace(
        facts,
        packages=replace(whole, distributions=rows),
        torch=Unavailable(reason="torch is not installed", why="absent"),
    )


def conda() -> Facts:
    facts = rented("NVIDIA RTX A6000", python="3.13.9")
    return replace(
        facts, interpreter=interpreter("3.13.9", is_conda=True, is_virtual=False, prefix="/opt/conda/envs/t")
    )


ROWS = (
    Row("H100 SXM", lambda: rented("NVIDIA H100 80GB HBM3", kernel={"fabric_manager": "completed"}), "h100"),
    Row(
        "8x H100 SXM, docker --ipc=host",
        lambda: rented(
            "NVIDIA H100 80GB HBM3", 8, host=DOCKER, board={"nvlinks": 18, "nvlinks_down": 0},
            kernel={"fabric_manager": "completed"},
        ),
        "h100",
    ),
    Row("H100 PCIe", lambda: rented("NVIDIA H100 PCIe"), "h100"),
    Row("H100, driver 580, torch 2.15+cu130", lambda: rented("NVIDIA H100 80GB HBM3", line="13.0", torch="2.15.0+cu130",
        driver="580.95.05"), "h100"),
    Row("H200", lambda: rented("NVIDIA H200", python="3.14.1"), "h200"),
    Row("A100 SXM 80 GB", lambda: rented("NVIDIA A100-SXM4-80GB"), "a100"),
    Row("A100 PCIe 40 GB", lambda: rented("NVIDIA A100-PCIE-40GB", python="3.11.14"), "a100"),
    Row("A100 MIG slice, chosen", lambda: rented("NVIDIA A100-SXM4-80GB", board={"mig": True}, host=DOCKER,
        variables={"NVIDIA_VISIBLE_DEVICES": "MIG-4f0a"}), "a100"),
    Row("8x B200", lambda: rented("NVIDIA B200", 8, kernel={"fabric_manager": "completed"}), "b200"),
    Row("B300", lambda: rented("NVIDIA B300 SXM6 AC"), "b200"),
    Row("GH200", lambda: rented("NVIDIA GH200 480GB", machine="aarch64"), "h100"),
    Row("GB10, DGX Spark", lambda: rented("NVIDIA GB10", machine="aarch64", board={"power_limit": None,
        "power_default": None}), "rtx5090"),
    Row("Jetson Thor", lambda: rented("NVIDIA Thor", machine="aarch64", kernel=JETSON), ""),
    Row("Jetson AGX Orin, JetPack 7", lambda: rented("Orin", machine="aarch64", kernel=JETSON,
        board={"power_limit": None, "power_default": None, "pcie_width": None, "pcie_width_max": None}), ""),
    Row("4090 desktop", lambda: rented("NVIDIA GeForce RTX 4090", host={"shm": 31 << 30, "memory": 62 << 30}),
        "rtx4090"),
    Row("4090 laptop", lambda: rented("NVIDIA GeForce RTX 4090 Laptop GPU", board={"pcie_width": 8, "pcie_width_max": 8,
        "power_limit": 150.0, "power_default": 150.0}, host={"governor": "powersave"}), "rtx4090"),
    Row("3090", lambda: rented("NVIDIA GeForce RTX 3090"), "rtx3090"),
    Row("2x 3090 without NVLink", lambda: rented("NVIDIA GeForce RTX 3090", 2, together={"peer_access": CLOSED}),
        "rtx3090"),
    Row("5090", lambda: rented("NVIDIA GeForce RTX 5090", python="3.13.9"), "rtx5090"),
    Row("RTX PRO 6000 Blackwell", lambda: rented("NVIDIA RTX PRO 6000 Blackwell Server Edition"), "rtx5090"),
    Row("T4, Colab", lambda: rented("Tesla T4", driver="580.82.07", line="13.0", torch="2.15.0+cu130",
        host={**DOCKER, "cpus": 2, "cores": 1, "affinity": 2, "shm": 6 << 30, "memory": 13 << 30},
        said={"threads": 1, "interop_threads": 1}), "t4"),
    Row("2x T4, Kaggle", lambda: rented("Tesla T4", 2, driver="580.82.07", line="13.0", torch="2.15.0+cu130",
        host=DOCKER, board={"virtual": True}, together={"peer_access": CLOSED}), "t4"),
    Row("L4, GCP", lambda: rented("NVIDIA L4", board={"virtual": True}), "l4"),
    Row("L40S", lambda: rented("NVIDIA L40S"), "l40s"),
    Row("A10G, AWS", lambda: rented("NVIDIA A10G", board={"virtual": True}), "rtx3090"),
    Row("V100, the last line for it", lambda: rented("Tesla V100-SXM2-16GB", torch="2.14.1+cu126", line="12.6",
        driver="580.95.05", kernel={"open_module": False}, extra={"torchvision": "0.29.1+cu126"}), "v100"),
    Row("vGPU", lambda: rented("NVIDIA A40-24Q", board={"virtual": True, "throttle_reasons": None, "power_limit": None,
        "power_default": None, "utilization": None}), "rtx3090"),
    Row("WSL 2", lambda: rented("NVIDIA GeForce RTX 4080", host={"container": "wsl2",
        "kernel": "6.6.87.2-microsoft-standard-WSL2"},
        kernel={"devices": (), "kernel_module": None, "library_path": "/usr/lib/wsl/lib/libcuda.so.1"}), "rtx4090"),
    Row("Windows", lambda: rented("NVIDIA GeForce RTX 4070", torch="2.15.0+cu132", system="win32", driver="596.21",
        host={"system": "Windows", "machine": "AMD64", "kernel": "11", "shm": None, "shm_free": None},
        kernel={"devices": (), "open_module": None}, without=("triton", "nvidia-cudnn-cu13", "nvidia-nccl-cu13",
        "liger-kernel"), extra={"torchvision": "0.29.2+cu132"}), "l4"),
    Row("Slurm, one GPU of eight", lambda: rented("NVIDIA A100-SXM4-80GB", kernel={
        "pci": tuple(f"0000:0{i}:00.0 10de:20b2" for i in range(8)),
        "devices": tuple(f"/dev/nvidia{i}" for i in range(8)),
        "device_denied": tuple(f"/dev/nvidia{i}" for i in range(1, 8))},
        variables={"CUDA_VISIBLE_DEVICES": "0", "SLURM_GPUS_ON_NODE": "1", "SLURM_CPUS_PER_TASK": "16"},
        host={"affinity": 16, "uid": 1007}), "a100"),
    Row("conda", conda, "rtx3090"),
    Row("NixOS", lambda: rented("NVIDIA GeForce RTX 4090", python="3.14.0", host={"distribution": "NixOS 26.05"},
        kernel={"library_path": "/run/opengl-driver/lib/libcuda.so.1"}), "rtx4090"),
    Row("NGC container's own build", lambda: rented(
        "NVIDIA H100 80GB HBM3", torch="2.10.0a0+b4e4ee81d3.nv25.12", line="13.1", host=DOCKER,
        extra={"torchvision": "0.25.0a0+ca221243", "triton": "3.5.0", "nvidia-cudnn-cu13": "9.26.0.51"},
        said={"arch_list": ("sm_80", "sm_86", "sm_90", "sm_100", "sm_110", "sm_120", "compute_120")}),
        "h100", warns=("packages/pinned-versions",), exit=1),
    Row("nightly", lambda: rented("NVIDIA B200", torch="2.16.0.dev20261120+cu132", extra={
        "torchvision": "0.30.0.dev20261120+cu132", "triton": "3.9.0+git1234abcd"}), "b200"),
    Row("CPU, Python 3.10", lambda: processor("3.10.19", "2.14.1"), "cpu"),
    Row("CPU, Python 3.11", lambda: processor("3.11.14"), "cpu"),
    Row("CPU, Python 3.12", lambda: processor("3.12.11"), "cpu"),
    Row("CPU, Python 3.13", lambda: processor("3.13.9"), "cpu"),
    Row("CPU, Python 3.14", lambda: processor("3.14.1"), "cpu"),
    Row("macOS, Apple silicon", lambda: processor("3.12.11", "2.15.0", system="darwin"), "cpu"),
    Row("Windows without GPU", lambda: processor("3.12.11", "2.15.0+cpu", system="win32"), "cpu"),
    Row("Jetson Thor, JetPack 7: a driver with a number of its own", lambda: rented("NVIDIA Thor", machine="aarch64",
        driver="580.00", torch="2.14.1", line="13.0", kernel={**JETSON, "cuda": "13.0"},
        board={"power_limit": None, "power_default": None, "pcie_width": None, "pcie_width_max": None}), "", exit=0),
    Row("Jetson AGX Orin, JetPack 6: NVML tells a name", lambda: orin(nvml=True), ""),
    Row("Jetson AGX Orin, JetPack 5: no NVML", lambda: orin(nvml=False, cuda="11.4"), ""),
    Row("Jetson Xavier, JetPack 5: no NVML, no nvidia.ko", lambda: orin(nvml=False, cuda="11.4",
        devices=("/dev/nvhost-gpu",)), ""),
    Row("RTX 5070 Ti laptop, Windows 11", lambda: rented("NVIDIA GeForce RTX 5070 Ti Laptop GPU", torch="2.15.0+cu132",
        system="win32", driver="595.79", python="3.14.1", host=WINDOWS, kernel={"devices": (), "open_module": None},
        without=LINUX_ONLY, extra={"torchvision": "0.29.2+cu132"}), "rtx5090"),
    Row("5090 in WSL 2", lambda: rented("NVIDIA GeForce RTX 5090", driver="591.44", torch="2.14.1", line="13.0",
        host={"container": "wsl2", "kernel": "6.6.87.2-microsoft-standard-WSL2"},
        kernel={"devices": (), "kernel_module": None, "library_path": "/usr/lib/wsl/lib/libcuda.so.1"}), "rtx5090"),
    Row("4060 laptop", lambda: rented("NVIDIA GeForce RTX 4060 Laptop GPU", board={"pcie_width": 8,
        "pcie_width_max": 8, "power_limit": None, "power_default": None}, host={"governor": "powersave"}), ""),
    Row("H20", lambda: rented("NVIDIA H20"), "h100"),
    Row("L20", lambda: rented("NVIDIA L20"), "l40s"),
    Row("A16, half a vGPU", lambda: rented("NVIDIA A16-16Q", board={"virtual": True, "throttle_reasons": None,
        "power_limit": None, "power_default": None, "utilization": None}), "rtx3090"),
    Row("MIG slice of an H200", lambda: rented("NVIDIA H200 MIG 3g.71gb", board={"mig": True}, host=DOCKER,
        variables={"NVIDIA_VISIBLE_DEVICES": "MIG-1b2c"}), "h200"),
    Row("toolkit 12.2 beside a torch for 13.2", lambda: rented("NVIDIA A100-SXM4-80GB", variables={
        "CUDA_HOME": "/usr/local/cuda-12.2", "PATH": "/usr/local/cuda-12.2/bin:/usr/bin"}), "a100"),
    Row("driver 595, torch for CUDA 12.6", lambda: rented("NVIDIA GeForce RTX 4090", torch="2.14.1+cu126", line="12.6",
        extra={"torchvision": "0.29.1+cu126"}), "rtx4090"),
    Row("GH200 with the cuDNN that gives NaN", lambda: rented("NVIDIA GH200 480GB", machine="aarch64", torch="2.14.1",
        line="13.0", driver="580.95.05"), "h100", warns=("attention/cudnn-first",), exit=1),
    Row("ROCm is not judged", rocm, "cpu", exit=3),
    Row("JAX is not judged", lambda: only(jax="0.9.1", jaxlib="0.9.1", numpy="2.5.6"), "cpu", exit=3),
    Row("TensorFlow is not judged", lambda: only(tensorflow="2.22.0", numpy="2.5.6"), "cpu", exit=3),
    Row("no lock for Python 3.9", lambda: replace(processor("3.9.25", "2.8.0+cpu"), packages=packages("2.8.0+cpu", "",
        without=("torchvision",))), "cpu", exit=3),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_sound_machine_is_sound(row: Row) -> None:
    checkup = doctor.judge(row.facts(), CheckOptions(recorded=True))
    found = checkup.diagnosis.at_least(Severity.WARNING)
    said = [f"{each.severity.word if each.severity else ''} {each.rule}: {each.message}" for each in found]
    assert [each for each in found if each.severity is Severity.ERROR] == [], said
    assert {each.rule for each in found} <= set(row.warns), said
    assert len(found) <= 2
    assert exit_code(checkup, "warning") == row.exit, (said, checkup.diagnosis.unseen, checkup.diagnosis.crashed)
    assert not checkup.diagnosis.crashed
    assert row.target in ("", checkup.target.name)


def test_a_board_whose_gpu_does_not_start_is_not_sound() -> None:
    """The same silence of NVML, and nothing else that shows that the GPU is there."""
    checkup = doctor.judge(orin(nvml=False, works=False), CheckOptions(recorded=True))
    assert checkup.diagnosis.outcome != "healthy"
    assert "the GPU" in {each.section for each in checkup.diagnosis.unseen}
