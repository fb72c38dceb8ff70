"""One fault planted into a sound machine: which finding is named first.

The rows' answers were written before the doctor saw them. Each fault lies in an environment that also differs a little
from the lock, as real ones do: what costs nothing must not hide what costs a factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from envdoctor import doctor
from envdoctor.facts.model import (
    DamagedFile,
    Facts,
    Flag,
    Host,
    Launcher,
    Packages,
    Script,
    Storage,
    Torch,
    Unavailable,
)
from envdoctor.rules.checkup import CheckOptions
from tests.rules.rented import FRESH, GIB, packages, processor, rented

HOPPER, ADA = "NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 4090"
DOCKER: dict[str, Any] = {"container": "docker"}
BLIND = {"cuda_available": False, "device_count": 0, "capabilities": ()}
OLD = {"pandas": "3.0.1", "datasets": "5.1.0"}
"""What any environment of last month has: a warning of its own in every row below."""


class Row(NamedTuple):
    name: str
    facts: Callable[[], Facts]
    rule: str


def h100(count: int = 1, **changes: Any) -> Facts:
    return rented(HOPPER, count, **{"extra": OLD, **changes})


def ada(**changes: Any) -> Facts:
    return rented(ADA, **{"extra": OLD, "without": ("certifi",), **changes})


def with_torch(facts: Facts, **changes: Any) -> Facts:
    assert isinstance(facts.torch, Torch)
    return replace(facts, torch=replace(facts.torch, **changes))


def with_packages(facts: Facts, **changes: Any) -> Facts:
    assert isinstance(facts.packages, Packages)
    return replace(facts, packages=replace(facts.packages, **changes))


def flags(**values: str) -> dict[str, Flag]:
    return {name: Flag(value=value) for name, value in {**FRESH, **values}.items()}


def xformers() -> Facts:
    facts = ada()
    assert isinstance(facts.packages, Packages)
    wheel = replace(facts.packages.distributions[0], name="xformers", version="0.0.34", requires=("torch==2.10.0",))
    return with_packages(facts, distributions=(*facts.packages.distributions, wheel))


def old_hub() -> Facts:
    return h100(extra={**OLD, "huggingface-hub": "0.36.0"})


def disk(purpose: str, **changes: Any) -> Facts:
    facts = h100()
    assert isinstance(facts.host, Host)
    rows: tuple[Storage, ...] = tuple(
        replace(one, **changes) if one.purpose == purpose else one for one in facts.host.storage
    )
    return replace(facts, host=replace(facts.host, storage=rows))


CONV = Script(path="train.py", source="import torch\nnet = torch.nn.Conv3d(3, 8, 3).cuda().bfloat16()\n")
LOADED: dict[str, Any] = {"together": {"under_load": True}}

ROWS = (
    Row("H100: CUDA_LAUNCH_BLOCKING=1", lambda: h100(variables={"CUDA_LAUNCH_BLOCKING": "1"}), "variables/debug"),
    Row("4090: CUDA_LAUNCH_BLOCKING=1", lambda: ada(variables={"CUDA_LAUNCH_BLOCKING": "1"}), "variables/debug"),
    Row("4090: no caching allocator", lambda: ada(variables={"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}),
        "variables/debug"),
    Row("8x H100: NCCL_P2P_DISABLE=1", lambda: h100(8, variables={"NCCL_P2P_DISABLE": "1"}), "variables/nccl"),
    Row("8x H100: NVLinks down", lambda: h100(8, board={"nvlinks": 16, "nvlinks_down": 2}), "gpu/nvlink"),
    Row("8x H100: peer access closed", lambda: h100(8, together={"peer_access": tuple(
        tuple(one == other for other in range(8)) for one in range(8))}), "network/peer-access"),
    Row("H100: 200 of 700 W", lambda: h100(board={"power_limit": 200.0}), "gpu/power-limit"),
    Row("H100: clocks fixed at half", lambda: h100(board={"sm_clock_application": 990, "sm_clock_max": 1980,
        "sm_clock": 990, "throttle_reasons": ("app-clocks",), "utilization": 99}, **LOADED), "gpu/application-clocks"),
    Row("H100: Conv3d under torch 2.9.1", lambda: replace(h100(torch="2.9.1+cu128", line="12.8", extra=OLD,
        without=("torchvision",)), scripts=(CONV,)), "packages/known-slow"),
    Row("H100: masks under cuDNN 9.24", lambda: h100(torch="2.14.1", line="13.0", extra={}), "attention/cudnn-first"),
    Row("4090 in a container: error 804", lambda: ada(host=DOCKER, driver="580.95.05", kernel={"cuinit": 804,
        "library": "595.71.05", "library_path": "/usr/local/cuda/compat/libcuda.so.595.71.05"}, said={**BLIND,
        "cuda_error": "CUDA error 804: forward compatibility was attempted on non supported HW"}), "driver/cuda-init"),
    Row("container lost its GPU", lambda: ada(host=DOCKER, kernel={"cuinit": 999,
        "smi": "Failed to initialize NVML: Unknown Error", "device_denied": ("/dev/nvidia0", "/dev/nvidiactl")},
        said={**BLIND, "cuda_error": "CUDA unknown error"}, gpus=Unavailable(reason="NVML: Unknown Error")),
        "driver/devices"),
    Row("triton of another torch", lambda: ada(extra={**OLD, "triton": "3.8.0"}), "packages/triton-pair"),
    Row("xformers of another torch", xformers, "packages/extension-abi"),
    Row("triton is missing", lambda: ada(without=("triton",)), "packages/triton-pair"),
    Row("torchvision of another torch", lambda: with_packages(ada(), distributions=tuple(
        replace(one, version="0.28.0", requires=("torch==2.13.0",)) if one.name == "torchvision" else one
        for one in packages("2.15.0", "13.2", OLD).distributions)), "packages/torch-pair"),
    Row("driver 535", lambda: ada(driver="535.183.01", kernel={"cuda": "12.2", "cuinit": 0}, said={**BLIND,
        "cuda_error": "The NVIDIA driver on your system is too old (found version 12020)."}), "torch/driver-too-old"),
    Row("driver 570", lambda: h100(driver="570.124.06", kernel={"cuda": "12.8"}, said={**BLIND,
        "cuda_error": "The NVIDIA driver on your system is too old (found version 12080)."}), "torch/driver-too-old"),
    Row("container without GPU", lambda: ada(host=DOCKER, kernel={"devices": (), "cuinit": 100,
        "pci": ("0000:01:00.0 10de:2684",)}, said=BLIND, gpus=Unavailable(reason="no device")), "driver/devices"),
    Row("every GPU hidden", lambda: h100(variables={"CUDA_VISIBLE_DEVICES": "-1"}, said=BLIND), "driver/devices"),
    Row("user may not open the GPU", lambda: h100(kernel={"device_denied": ("/dev/nvidia0",), "cuinit": 100},
        host={"uid": 1000}, said=BLIND), "driver/devices"),
    Row("module and library differ", lambda: ada(kernel={"cuinit": 803, "library": "580.95.05",
        "management_library": "580.95.05", "smi": "Failed to initialize NVML: Driver/library version mismatch"},
        said={**BLIND, "cuda_error": "CUDA error 803"}), "driver/library-mismatch"),
    Row("fabric manager does not run", lambda: h100(8, kernel={"cuinit": 802, "fabric_manager": "in progress"},
        said={**BLIND, "cuda_error": "Error 802: system not yet initialized"}), "driver/fabric-manager"),
    Row("CPU build on a 4090", lambda: replace(processor(), driver=ada().driver, gpus=ada().gpus), "torch/cpu-only"),
    Row("5090 with torch 2.6+cu124", lambda: rented("NVIDIA GeForce RTX 5090", torch="2.6.0+cu124", line="12.4",
        extra={"triton": "3.2.0"}, without=("torchvision", "bitsandbytes")), "torch/no-kernels"),
    Row("V100 with a CUDA 13 build", lambda: rented("Tesla V100-SXM2-16GB", torch="2.15.0+cu130", line="13.0",
        driver="580.95.05", extra=OLD), "torch/no-kernels"),
    Row("64 MiB of shared memory", lambda: h100(host={**DOCKER, "shm": 64 << 20, "shm_free": 64 << 20}),
        "host/shared-memory"),
    Row("heat", lambda: ada(board={"throttle_reasons": ("hw-thermal",), "temperature": 91, "temperature_slowdown": 90,
        "utilization": 100, "sm_clock": 900, "sm_clock_max": 2520, "pcie_generation": 4}, **LOADED), "gpu/temperature"),
    Row("link of one lane", lambda: ada(board={"pcie_width": 1, "pcie_generation": 4, "utilization": 99}, **LOADED),
        "gpu/pcie-link"),
    Row("flash-attn of another torch", lambda: h100(extra={**OLD,
        "flash-attn": "2.7.4.post1+cu12torch2.6cxx11abifalse"}),
        "packages/extension-abi"),
    Row("two of 64 CPUs", lambda: h100(host={**DOCKER, "cpus": 64, "affinity": 64, "cpu_quota": 2.0}),
        "host/cpu-quota"),
    Row("GPU occupied by another", lambda: h100(board={"processes": 2, "memory_used": 70 * GIB, "utilization": 99}),
        "gpu/occupied"),
    Row("memory errors", lambda: h100(board={"ecc_uncorrected": 12}), "gpu/memory-errors"),
    Row("rows could not be remapped", lambda: h100(board={"rows_failed": True}), "gpu/memory-errors"),
    Row("Xid 79 in the kernel's log", lambda: h100(board={"xid": (79,)}), "gpu/kernel-log"),
    Row("one card of eight is gone", lambda: h100(7, kernel={"devices": tuple(f"/dev/nvidia{i}" for i in range(8))}),
        "gpu/count"),
    Row("Linux driver inside WSL", lambda: ada(host={"container": "wsl2"}, kernel={"cuinit": 100, "devices": (),
        "library_path": "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "kernel_module": ""}, said=BLIND,
        gpus=Unavailable(reason="no device")), "driver/wsl"),
    Row("closed module on a B200", lambda: rented("NVIDIA B200", kernel={"open_module": False, "cuinit": 100,
        "devices": (),
        "pci": ("0000:01:00.0 10de:2901",)}, said=BLIND, gpus=Unavailable(reason="no device")), "driver/open-module"),
    Row("compute mode prohibited", lambda: h100(board={"compute_mode": "prohibited"}, kernel={"cuinit": 46},
        said={**BLIND, "cuda_error": "all CUDA-capable devices are busy or unavailable"}), "gpu/compute-mode"),
    Row("MIG left on", lambda: rented("NVIDIA A100-SXM4-80GB", board={"mig": True}, extra=OLD), "gpu/mig"),
    Row("one thread on a CPU", lambda: with_torch(replace(processor(), variables={"OMP_NUM_THREADS": "1"}), threads=1),
        "variables/thread-count"),
    Row("torch is missing", lambda: replace(h100(without=("torch",)), torch=Unavailable(
        reason="No module named 'torch'",
        why="absent")), "packages/missing"),
    Row("hub too old for transformers", old_hub, "packages/known-conflicts"),
    Row("nothing but an old transformers", lambda: h100(extra={"transformers": "5.9.0", "huggingface-hub": "1.31.0"}),
        "packages/pinned-versions"),
    Row("TF32 forbidden", lambda: replace(h100(variables={"NVIDIA_TF32_OVERRIDE": "0"}, extra={})),
        "variables/tf32-override"),
    Row("a float32 run without TF32", lambda: h100(extra={}, launcher=Launcher(settings={"mixed_precision": "no"})),
        "precision/float32-matmul"),
    Row("only math attention", lambda: with_torch(h100(extra={}), flags=flags(sdp="math")), "attention/math-only"),
    Row("a file of torch is gone", lambda: with_packages(h100(), damaged=(DamagedFile(distribution="torch",
        kind="missing-file", path="torch/lib/libtorch_cuda.so"),)), "packages/damaged"),
    Row("import torch dies", lambda: replace(h100(), torch=Unavailable(reason="import torch: SIGSEGV", why="crashed")),
        "torch/import-fails"),
    Row("temporary folder is full", lambda: disk("temporary", free=5 << 20), "host/disk-space"),
    Row("two releases of cuDNN", lambda: h100(extra=OLD, said={"libraries": (
        "/usr/lib/x86_64-linux-gnu/libcudnn.so.9", "/env/lib/python3.12/site-packages/nvidia/cudnn/lib/"
        "libcudnn_graph.so.9")}), "torch/cudnn"),
    Row("256 open files", lambda: h100(host={"files_soft": 256, "files_hard": 256}), "host/open-files"),
    Row("allocator misspelt", lambda: h100(variables={"PYTORCH_ALLOC_CONF": "expandable_segment:True"}),
        "variables/allocator"),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_fault_is_named_first(row: Row) -> None:
    checkup = doctor.judge(row.facts(), CheckOptions(recorded=True))
    root = checkup.diagnosis.root_cause
    assert not checkup.diagnosis.crashed
    others = [f"{each.rule}: {each.message}" for each in checkup.diagnosis.findings if each.severity != 1]
    assert root is not None, others
    assert root.rule == row.rule, (root.message, others)


def test_there_are_enough_of_them() -> None:
    assert len(ROWS) >= 40
    assert len({row.rule for row in ROWS}) >= 30
