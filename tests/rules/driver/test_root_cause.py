"""Whole machines, judged by the three families together: one root cause each; nothing wrong with the healthy ones."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Driver, Facts, Gpus, Host, Interpreter, Torch, Unavailable
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import Diagnosis, diagnose
from envdoctor.rules.rule import Severity
from tests.rules.cuda_machines import KERNELS_CU126, driver, gpu, gpus, machine, pasted, torch
from tests.rules.judging import NOTHING

RULES = [rule for rule in load_rules() if rule.family in ("torch", "driver", "gpu")]
DOWN = {"cuda_available": False, "device_count": 0, "capabilities": ()}
TOO_OLD = "The NVIDIA driver on your system is too old (found version 12020)."
NO_GPUS = Gpus()
NOT_COMPATIBLE = "is not compatible with the current PyTorch installation."
MISMATCH = "Error 803: system has unsupported display driver / cuda driver combination"


def judged(facts: Facts) -> Diagnosis:
    diagnosis = diagnose(facts, NOTHING, RULES)
    assert diagnosis.crashed == ()
    return diagnosis


BROKEN = {
    "module and library differ": (
        machine(
            driver=driver(
                library="570.124.06",
                management_library="570.124.06",
                cuinit=803,
                cuda=None,
                smi="Failed to initialize NVML: Driver/library version mismatch",
            ),
            gpus=NO_GPUS,
            torch=torch(**DOWN, cuda_error=MISMATCH),
        ),
        "driver-library-mismatch",
    ),
    "driver too old": (
        machine(
            driver=driver(kernel_module="535.54.03", library="535.54.03", management_library="535.54.03", cuda="12.2"),
            torch=torch(**DOWN, cuda_error=TOO_OLD),
        ),
        "driver-too-old",
    ),
    "driver too old, old card without kernels": (
        machine(
            driver=driver(kernel_module="535.54.03", library="535.54.03", management_library="535.54.03", cuda="12.2"),
            gpus=gpus(gpu(0, "Tesla P100-PCIE-16GB", capability="6.0")),
            torch=torch(**DOWN, cuda_error=TOO_OLD),
        ),
        "driver-too-old",
    ),
    "CPU build": (
        machine(torch=torch(version="2.15.0+cpu", **{**DOWN, "cuda": "", "arch_list": ()})),
        "torch-cpu-only",
    ),
    "no kernels": (
        machine(
            gpus=gpus(gpu(0, "NVIDIA GeForce RTX 5090", capability="12.0")),
            torch=torch(
                version="2.7.0+cu126",
                cuda="12.6",
                arch_list=KERNELS_CU126,
                capabilities=("12.0",),
                warnings=(f"NVIDIA GeForce RTX 5090 with CUDA capability sm_120 {NOT_COMPATIBLE}",),
            ),
        ),
        "no-kernels-for-gpu",
    ),
    "fabric manager": (
        machine(
            driver=driver(cuinit=802, fabric_manager="in progress"),
            torch=torch(**DOWN, cuda_error="Error 802: system not yet initialized"),
        ),
        "cuda-init-failed",
    ),
    "container without GPU": (
        machine(
            container="docker",
            gpus=NO_GPUS,
            torch=torch(**DOWN, cuda_error="No CUDA GPUs are available"),
            driver=Driver(
                kernel_module="580.65.06", library="", management_library="", pci=("0000:01:00.0 10de:2330",)
            ),
        ),
        "gpu-not-visible",
    ),
    "hidden by a variable": (
        machine(variables={"CUDA_VISIBLE_DEVICES": "-1"}, driver=driver(cuinit=100), torch=torch(**DOWN)),
        "gpu-not-visible",
    ),
    "module not loaded": (
        machine(
            driver=Driver(kernel_module="", library="580.65.06", cuinit=100, pci=("0000:01:00.0 10de:2330",)),
            gpus=NO_GPUS,
            torch=torch(**DOWN, cuda_error="Found no NVIDIA driver on your system"),
        ),
        "gpu-not-visible",
    ),
    "WSL 1": (
        machine(
            host=Host(container="wsl1", kernel="4.4.0-Microsoft"),
            driver=Driver(kernel_module=""),
            gpus=NO_GPUS,
            torch=torch(**DOWN, cuda_error="Found no NVIDIA driver on your system"),
        ),
        "gpu-not-visible",
    ),
    "card dropped by the driver": (
        machine(
            driver=driver(
                kernel_module="590.48.01",
                library="590.48.01",
                management_library="590.48.01",
                cuinit=100,
                pci=("0000:01:00.0 10de:15f8",),
                devices=(),
                smi="No devices were found",
                open_module=None,
            ),
            gpus=NO_GPUS,
            torch=torch(**DOWN, cuda_error="No CUDA GPUs are available"),
        ),
        "gpu-not-visible",
    ),
    "two cuDNN": (
        machine(
            torch=torch(
                libraries=(
                    "/env/lib/python3.12/site-packages/nvidia/cudnn/lib/libcudnn.so.9",
                    "/usr/lib/x86_64-linux-gnu/libcudnn_graph.so.9",
                )
            )
        ),
        "cudnn-mismatch",
    ),
    "torch crashes": (
        machine(torch=Unavailable(reason="import torch: SIGSEGV", why="crashed")),
        "torch-import",
    ),
    "lost memory": (machine(gpus=gpus(gpu(0, ecc_uncorrected=3, xid=(48,)))), "gpu-unhealthy"),
}


@pytest.mark.parametrize(("facts", "kind"), BROKEN.values(), ids=BROKEN.keys())
def test_one_root_cause(facts: Facts, kind: str) -> None:
    diagnosis = judged(facts)
    root = diagnosis.root_cause
    assert root is not None
    assert (root.kind, root.severity) == (kind, Severity.ERROR)
    # Whatever else is an error is a symptom of something, except for a second fault of the same hardware.
    others = [f for f in diagnosis.at_least(Severity.ERROR) if f is not root and f.symptom_of is None]
    assert [f.kind for f in others if f.kind not in ("gpu-unhealthy", "no-kernels-for-gpu")] == []


HEALTHY = {
    "full probe of an H100": machine(),
    "eight H100": machine(
        driver=driver(devices=tuple(f"/dev/nvidia{i}" for i in range(8)), pci=(), fabric_manager="completed"),
        gpus=gpus(
            *(
                gpu(
                    i,
                    capability="9.0",
                    power_limit=700.0,
                    power_default=700.0,
                    nvlinks=18,
                    nvlinks_down=0,
                    memory_used=0,
                    utilization=0,
                    throttle_reasons=("idle",),
                    pcie_width=16,
                    pcie_width_max=16,
                    pcie_generation=1,
                    pcie_generation_max=5,
                    ecc_uncorrected=0,
                    rows_pending=False,
                    rows_failed=False,
                    mig=False,
                    compute_mode="default",
                    persistence=True,
                    temperature=30,
                    temperature_slowdown=89,
                    sm_clock_application=1980,
                    sm_clock_max=1980,
                )
                for i in range(8)
            )
        ),
        torch=torch(device_count=8, capabilities=("9.0",) * 8),
    ),
    "Colab T4": pasted(
        interpreter=Interpreter(version="3.11.13"),
        torch=Torch(version="2.6.0+cu124", cuda="12.4", cuda_available=True, cudnn="9.2.1", debug_build=False),
        driver=Driver(kernel_module="550.54.15"),
        gpus=gpus(gpu(0, "Tesla T4")),
        host=Host(nvcc="12.5.82"),
    ),
    "cu126 on driver 535": machine(
        driver=driver(kernel_module="535.183.01", library="535.183.01", management_library="535.183.01", cuda="12.2"),
        torch=torch(version="2.14.0+cu126", cuda="12.6", arch_list=KERNELS_CU126),
    ),
    "RTX 4090 on sm_86 code": machine(
        gpus=gpus(gpu(0, "NVIDIA GeForce RTX 4090", capability="8.9")),
        driver=driver(pci=("0000:01:00.0 10de:2684",)),
        torch=torch(version="2.14.0+cu126", cuda="12.6", arch_list=KERNELS_CU126, capabilities=("8.9",)),
    ),
    "CPU build on a machine without GPU": machine(
        driver=Driver(kernel_module=""),
        gpus=NO_GPUS,
        torch=torch(version="2.15.0+cpu", **{**DOWN, "cuda": ""}),
    ),
    "CUDA build on a machine without GPU": machine(
        driver=Driver(kernel_module="", library=""),
        gpus=NO_GPUS,
        torch=torch(**DOWN),
    ),
    "container of a GPU host, without GPU": machine(
        container="docker",
        driver=Driver(kernel_module="580.65.06", library="", devices=()),
        gpus=NO_GPUS,
        torch=torch(version="2.15.0+cpu", **{**DOWN, "cuda": ""}),
    ),
    "WSL 2": machine(
        host=Host(container="wsl2", system="Linux", cpus=16),
        gpus=gpus(gpu(0, "NVIDIA GeForce RTX 3060", capability="8.6")),
        driver=Driver(
            kernel_module="",
            library="580.65.06",
            library_path="/usr/lib/wsl/lib/libcuda.so.1",
            cuda="13.0",
            cuinit=0,
            management_library="580.65.06",
        ),
        torch=torch(capabilities=("8.6",)),
    ),
    "Jetson": machine(
        interpreter=Interpreter(version="3.10.12", platform="linux-aarch64"),
        gpus=NO_GPUS,
        driver=Driver(kernel_module="540.4.0", library="540.4.0", cuda="12.6", cuinit=0),
        torch=torch(version="2.5.0a0+872d972e41.nv24.08", cuda="12.6", arch_list=("sm_87",), capabilities=("8.7",)),
    ),
    "forward compatibility": machine(
        driver=driver(
            kernel_module="535.183.01",
            library="580.65.06",
            management_library="535.183.01",
            library_path="/usr/local/cuda/compat/libcuda.so.580.65.06",
        ),
    ),
    "nothing reported": pasted(),
}


@pytest.mark.parametrize("facts", HEALTHY.values(), ids=HEALTHY.keys())
def test_nothing_wrong(facts: Facts) -> None:
    diagnosis = judged(facts)
    assert [finding.message for finding in diagnosis.at_least(Severity.WARNING)] == []
    assert diagnosis.root_cause is None
