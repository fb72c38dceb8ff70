"""Machines for the tests of torch, driver and gpu rules: a healthy one, and what is changed about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envdoctor.facts.model import Driver, Facts, Gpu, Gpus, Host, Interpreter, Origin, Packages, Torch, Unavailable
from envdoctor.locks.target import Target
from envdoctor.rules.rule import Finding, Rule
from tests.rules.judging import NOTHING, findings

H100 = "NVIDIA H100 80GB HBM3"
KERNELS_CU130 = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
KERNELS_CU126 = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")
CPU_TARGET = Target(name="cpu", title="CPU", stacks=("cpu",))


def driver(**changes: Any) -> Driver:
    """A loaded driver of branch 580 on a machine with one H100."""
    values: dict[str, Any] = {
        "kernel_module": "580.65.06",
        "library": "580.65.06",
        "library_path": "/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06",
        "management_library": "580.65.06",
        "cuda": "13.0",
        "cuinit": 0,
        "devices": ("/dev/nvidia0",),
        "pci": ("0000:01:00.0 10de:2330",),
        "open_module": True,
        "smi": "",
    }
    return Driver(**{**values, **changes})


def torch(**changes: Any) -> Torch:
    """torch 2.15 for CUDA 13.0 that works."""
    values: dict[str, Any] = {
        "version": "2.15.0+cu130",
        "cuda": "13.0",
        "arch_list": KERNELS_CU130,
        "cuda_available": True,
        "device_count": 1,
        "capabilities": ("9.0",),
        "cudnn": "91900",
        "cudnn_built": "91900",
        "debug_build": False,
        "hook": "",
    }
    return Torch(**{**values, **changes})


def gpu(index: int = 0, name: str = H100, **changes: Any) -> Gpu:
    return Gpu(index=index, name=name, **changes)


def gpus(*devices: Gpu, under_load: bool = False) -> Gpus:
    return Gpus(devices=devices or (gpu(capability="9.0"),), under_load=under_load)


def machine(
    *,
    container: str = "",
    variables: Mapping[str, str] | None = None,
    messages: tuple[str, ...] = (),
    kind: str = "probe",
    **sections: Any,
) -> Facts:
    """A healthy H100 with torch 2.15+cu130; keyword arguments replace sections."""
    values: dict[str, Any] = {
        "interpreter": Interpreter(version="3.12.3", prefix="/env", platform="linux-x86_64", libc="glibc 2.35"),
        "host": Host(system="Linux", machine="x86_64", container=container, cpus=32, nvcc=""),
        "driver": driver(),
        "gpus": gpus(),
        "torch": torch(),
        "packages": Packages(),
        "variables": dict(variables or {}),
    }
    return Facts(origin=Origin(kind=kind), messages=messages, **{**values, **sections})  # type: ignore[arg-type]


def pasted(*messages: str, **sections: Any) -> Facts:
    """A report that says only what is given."""
    return Facts(origin=Origin(kind="pasted"), messages=messages, **sections)


ABSENT = Unavailable(reason="no torch in this environment", why="absent")


def brief(rule: Rule, facts: Facts, target: Target = NOTHING) -> list[str]:
    """Findings as "severity kind subject", for tables."""
    return [
        f"{found.severity.word} {found.kind} {found.subject}"
        for found in findings(rule, facts, target)
        if found.severity
    ]


def only(rule: Rule, facts: Facts, target: Target = NOTHING) -> Finding:
    (found,) = findings(rule, facts, target)
    return found
