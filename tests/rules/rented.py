"""Machines as people rent or own them, made from the tables: the board of `gpus.toml`, the wheel of `releases.toml`,
and the newest packages of today, none of them pinned by envdoctor.

What torch says of itself is what that wheel says on that board; a row changes what is different about its machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from envdoctor.facts.model import (
    Distribution,
    Driver,
    Facts,
    Flag,
    Gpu,
    Gpus,
    Host,
    Interpreter,
    Network,
    Packages,
    Torch,
    Unavailable,
)
from envdoctor.knowledge import gpus as table
from envdoctor.knowledge.cuda_lines import newest_cuda
from envdoctor.knowledge.torch_builds import kernels_of
from tests.rules import machines

GIB = 1 << 30
ABSENT = Unavailable(reason="no launcher configuration", why="absent")

NEWEST = {
    "accelerate": "1.15.0",
    "aiohttp": "3.14.2",
    "bitsandbytes": "0.50.2",
    "certifi": "2026.11.2",
    "datasets": "5.2.0",
    "dill": "0.4.1",
    "einops": "0.8.2",
    "filelock": "4.2.13",
    "fsspec": "2026.10.0",
    "huggingface-hub": "2.4.1",
    "jinja2": "3.1.7",
    "liger-kernel": "0.8.5",
    "networkx": "3.7",
    "numpy": "2.5.6",
    "packaging": "26.3",
    "pandas": "3.1.1",
    "peft": "0.21.2",
    "pillow": "13.1.0",
    "pip": "26.3",
    "psutil": "7.3.0",
    "pyarrow": "26.0.1",
    "pyyaml": "6.0.4",
    "regex": "2026.11.15",
    "safetensors": "0.8.1",
    "sympy": "1.15.0",
    "tokenizers": "0.23.3",
    "tqdm": "4.69.0",
    "transformers": "5.24.0",
    "trl": "1.16.0",
    "typing-extensions": "4.17.0",
}
REQUIRES: Mapping[str, tuple[str, ...]] = {
    "accelerate": ("numpy<3,>=1.17", "packaging>=20.0", "psutil", "pyyaml", "torch>=2.0.0", "huggingface-hub>=0.21.0"),
    "bitsandbytes": ("torch<3,>=2.4", "numpy>=1.17", "packaging>=20.9"),
    "datasets": (
        "filelock",
        "numpy>=1.17",
        "pyarrow>=21.0.0",
        "pandas",
        "fsspec[http]>=2023.1.0",
        "huggingface-hub>=1.0",
    ),
    "liger-kernel": ("torch>=2.1.2", "triton>=2.3.1"),
    "peft": ("numpy>=1.17", "packaging>=20.0", "torch>=1.13.0", "transformers", "accelerate>=0.21.0", "safetensors"),
    "torchvision": ("numpy", "torch>=2.14.0", "pillow!=8.3.*,>=5.3.0"),
    "transformers": ("huggingface-hub<3,>=1.31", "numpy>=1.17", "tokenizers<=0.23.3,>=0.22", "safetensors>=0.4.3"),
    "trl": ("accelerate>=1.4.0", "datasets>=4.7.0", "transformers>=4.56.1", 'liger-kernel>=0.8.2; extra == "liger"'),
}
TORCH = {  # public version, CUDA line -> cuDNN, NCCL, triton, the mates of the day
    ("2.15.0", "13.2"): ("9.26.0.51", "2.30.7", "~=3.9.0", "3.9.0", "0.29.2"),
    ("2.15.0", "13.0"): ("9.26.0.51", "2.30.7", "~=3.9.0", "3.9.0", "0.29.2"),
    ("2.14.1", "13.0"): ("9.24.0.43", "2.30.7", "~=3.8.0", "3.8.0", "0.29.1"),
    ("2.9.1", "12.8"): ("9.10.2.21", "2.27.5", "==3.5.1", "3.5.1", "0.24.1"),
    ("2.14.1", "12.6"): ("9.10.2.21", "2.27.5", "~=3.8.0", "3.8.0", "0.29.1"),
}
FRESH = {
    "float32-matmul-precision": "highest",
    "sdp": "flash,efficient,math,cudnn",
    "cudnn-benchmark": "false",
    "cudnn-deterministic": "false",
    "deterministic-algorithms": "false",
    "bf16-reduced-precision-reduction": "true",
    "allocator-conf": "",
}


def interpreter(python: str = "3.12.11", machine: str = "x86_64", system: str = "linux", **changes: Any) -> Interpreter:
    minor = ".".join(python.split(".")[:2])
    platform = {"linux": f"linux-{machine}", "win32": "win-amd64", "darwin": "macosx-11.0-arm64"}[system]
    markers = {
        **machines._MARKERS,
        "implementation_version": python,
        "python_full_version": python,
        "python_version": minor,
        "sys_platform": system,
        "platform_system": {"linux": "Linux", "win32": "Windows", "darwin": "Darwin"}[system],
        "platform_machine": {"win32": "AMD64", "darwin": "arm64"}.get(system, machine),
        "platform_release": {"darwin": "25.1.0"}.get(system, "6.8.0"),
        "os_name": "nt" if system == "win32" else "posix",
    }
    values: dict[str, Any] = {
        "version": python,
        "markers": markers,
        "platform": platform,
        "libc": "glibc 2.39" if system == "linux" else None,
        "site_packages": (f"/env/lib/python{minor}/site-packages",),
        "headers": f"/usr/include/python{minor}/Python.h",
    }
    return replace(machines._INTERPRETER, **{**values, **changes})


def packages(torch: str, line: str, extra: Mapping[str, str] | None = None, without: tuple[str, ...] = ()) -> Packages:
    """The newest of everything beside this torch; ``line`` "" is a CPU build. ``extra`` adds or replaces versions."""
    public = torch.partition("+")[0]
    requires = {**REQUIRES}
    versions = {**NEWEST, "torch": torch, "torchvision": "0.29.2"}
    if line:
        cudnn, nccl, specifier, triton, vision = TORCH.get((public, line), TORCH["2.15.0", "13.2"])
        major = line.partition(".")[0]
        versions |= {"triton": triton, f"nvidia-cudnn-cu{major}": cudnn, f"nvidia-nccl-cu{major}": nccl}
        versions["torchvision"] = vision
        requires["torch"] = (
            ()
            if ".nv" in torch or ".dev" in torch
            else (
                f'triton{specifier}; platform_system == "Linux"',
                f'nvidia-cudnn-cu{major}=={cudnn}; platform_system == "Linux"',
                f'nvidia-nccl-cu{major}=={nccl}; platform_system == "Linux"',
                "filelock",
                "networkx",
                "sympy>=1.13.3",
            )
        )
    else:
        versions.pop("bitsandbytes")
        versions.pop("liger-kernel")
        versions["torchvision"] = "0.29.2+cpu" if torch.endswith("+cpu") else "0.29.2"
        requires["torch"] = ("filelock", "networkx", "sympy>=1.13.3")
    versions |= extra or {}
    return Packages(
        distributions=tuple(
            Distribution(
                name=name,
                version=version,
                location="/env/lib/python3.12/site-packages",
                installer="pip",
                requires=() if "a0+" in version else requires.get(name, ()),
            )
            for name, version in sorted(versions.items())
            if name not in without
        ),
        damage_checked="sizes",
        pip="26.3",
    )


def gpu(name: str, index: int = 0, **changes: Any) -> Gpu:
    """The board of the table, idle, as NVML reads it."""
    model = table.identify(name)
    assert model is not None, name
    memory = int((model.memory or 16) * 1e9)
    values: dict[str, Any] = {
        "index": index,
        "name": name,
        "capability": model.capability,
        "memory": memory,
        "memory_used": 500 << 20,
        "power_limit": model.power,
        "power_default": model.power,
        "utilization": 0,
        "temperature": 34,
        "throttle_reasons": ("idle",),
        "pcie_generation": 1,  # a link at rest
        "pcie_generation_max": 4,
        "pcie_width": 16,
        "pcie_width_max": 16,
        "compute_mode": "default",
        "processes": 0,
    }
    return Gpu(**{**values, **changes})


def torch_of(
    version: str, line: str, capability: str, count: int = 1, *, machine: str = "x86_64", **changes: Any
) -> Torch:
    """What that wheel says on that board."""
    public, major = version.partition("+")[0], line.partition(".")[0]
    cudnn, nccl, *_ = TORCH.get((public, line), TORCH["2.15.0", "13.2"])
    loaded = ".".join(cudnn.split(".")[:3])
    values: dict[str, Any] = {
        "version": version if "+" in version else f"{version}+cu{line.replace('.', '')}",
        "cuda": line,
        "debug_build": False,
        "cxx11_abi": True,
        "cudnn": loaded,
        "cudnn_built": loaded,
        "nccl": nccl if major else None,
        "arch_list": kernels_of(public, line, machine=machine),
        "cuda_available": True,
        "device_count": count,
        "capabilities": (capability,) * count,
        "flags": {name: Flag(value=value) for name, value in FRESH.items()} | {"threads": Flag(value="16")},
        "cpu_capability": "AVX512",
        "threads": 16,
        "interop_threads": 16,
        "numpy": "",
        "import_seconds": 2.4,
        "hook": "",
    }
    return Torch(**{**values, **changes})


def rented(
    name: str,
    count: int = 1,
    *,
    torch: str = "2.15.0",
    line: str = "13.2",
    driver: str = "595.71.05",
    python: str = "3.12.11",
    machine: str = "x86_64",
    system: str = "linux",
    board: Mapping[str, Any] | None = None,
    host: Mapping[str, Any] | None = None,
    kernel: Mapping[str, Any] | None = None,
    said: Mapping[str, Any] | None = None,
    extra: Mapping[str, str] | None = None,
    without: tuple[str, ...] = (),
    variables: Mapping[str, str] | None = None,
    together: Mapping[str, Any] | None = None,
    **sections: Any,
) -> Facts:
    """One such machine with ``count`` of these boards. ``board``, ``host``, ``kernel`` (driver), ``said`` (torch) and
    ``together`` (all GPUs) change single fields; ``sections`` whole sections."""
    devices = tuple(gpu(name, index, **(board or {})) for index in range(count))
    capability = devices[0].capability or ""
    peers = tuple((True,) * count for _ in range(count)) if count > 1 else ()
    newest = newest_cuda(driver) or "13.2"
    values: dict[str, Any] = {
        "interpreter": interpreter(python, machine, system),
        "packages": packages(torch, line, extra, without),
        "variables": {"PATH": "/usr/bin", **(variables or {})},
        "host": replace(machines._HOST, **{"machine": machine, **(host or {})}),
        "driver": Driver(
            **{
                "kernel_module": driver,
                "library": driver,
                "management_library": driver,
                "cuda": newest,
                "cuinit": 0,
                "devices": tuple(f"/dev/nvidia{index}" for index in range(count)),
                "open_module": True,
                "smi": "",
                **(kernel or {}),
            }
        ),
        "gpus": Gpus(**{"devices": devices, "count": count, "peer_access": peers, **(together or {})}),
        "torch": torch_of(torch, line, capability, count, machine=machine, **(said or {})),
        "extensions": (),
        "network": Network(interfaces=("eth0 10000",)),
        "launcher": ABSENT,
    }
    return Facts(**{**values, **sections})


def processor(python: str = "3.12.11", torch: str = "2.15.0+cpu", *, system: str = "linux", **sections: Any) -> Facts:
    """A machine without GPU, and the newest of everything for its processor."""
    host = {"linux": {}, "win32": {"system": "Windows", "machine": "AMD64"}, "darwin": _MAC}[system]
    whole: Host = replace(machines._HOST, cpu_flags=("avx2",), **host)
    machine = "arm64" if system == "darwin" else "x86_64"
    values: dict[str, Any] = {
        "interpreter": interpreter(python, machine, system),
        "packages": packages(torch, ""),
        "variables": {"PATH": "/usr/bin"},
        "host": whole,
        "driver": Driver(kernel_module="", library="", devices=(), pci=()),
        "gpus": Unavailable(reason="no NVIDIA driver", why="absent"),
        "torch": Torch(
            version=torch,
            cuda="",
            cxx11_abi=True,
            cuda_available=False,
            device_count=0,
            flags={name: Flag(value=value) for name, value in FRESH.items()} | {"threads": Flag(value="16")},
            cpu_capability="AVX2",
            threads=16,
            interop_threads=16,
            numpy="",
            hook="",
        ),
        "extensions": (),
        "network": Network(interfaces=("eth0 10000",)),
        "launcher": ABSENT,
    }
    return Facts(**{**values, **sections})


_MAC = {"system": "Darwin", "machine": "arm64", "shm": None, "shm_free": None, "governor": None}
