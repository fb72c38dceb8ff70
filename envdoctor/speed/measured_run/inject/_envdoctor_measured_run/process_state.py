"""What a training process runs on and with: device, threads, settings that cost speed, its loaders, its neighbours."""

from __future__ import annotations

import os
import runpy
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Names only of settings that cost speed; values of others are nobody's business.
VARIABLES = (
    "CUDA_LAUNCH_BLOCKING", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "TOKENIZERS_PARALLELISM", "TORCH_LOGS", "NCCL_DEBUG",
    "TORCH_DISTRIBUTED_DEBUG", "CUBLAS_WORKSPACE_CONFIG", "PYTHONMALLOC", "TORCHDYNAMO_DISABLE",
)  # fmt: skip

# What a training step runs through, by the name it is imported by. Only those that the program has imported are told.
PACKAGES = (
    "accelerate", "bitsandbytes", "datasets", "deepspeed", "flash_attn", "lightning", "liger_kernel", "numpy", "peft",
    "pytorch_lightning", "safetensors", "sentence_transformers", "tokenizers", "torchao", "transformers", "triton",
    "trl", "unsloth", "xformers",
)  # fmt: skip
# Modules that are imported only where that library's trainer drives the loop: its own options are what can be written.
DRIVERS = (
    ("trl.trainer.base_trainer", "trl"), ("trl.trainer.sft_trainer", "trl"), ("transformers.trainer", "transformers"),
    ("lightning.pytorch.trainer.trainer", "lightning"), ("pytorch_lightning.trainer.trainer", "lightning"),
)  # fmt: skip
FLAGS = "ENVDOCTOR_MEASURED_RUN_FLAGS"  # path of the table of flags


def describe(torch: Any, optimizer: Any) -> dict[str, Any]:
    """The process at its first optimizer step."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    on_cuda = any(p.device.type == "cuda" for p in parameters)
    device: dict[str, Any] = {
        "type": "cuda" if on_cuda else "cpu",
        "name": _cpu_name(),
        "cpu_model": _cpu_name(),
        "capability": None,
    }
    if on_cuda:
        where = next(p.device for p in parameters if p.device.type == "cuda")
        device["name"] = torch.cuda.get_device_name(where)
        device["capability"] = "{}.{}".format(*torch.cuda.get_device_capability(where))
        device["identity"] = _gpu_identity(torch, where)
    device["threads"] = torch.get_num_threads()
    device["cores"] = usable_cores()
    return {
        "program": os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else "",
        "pid": os.getpid(),
        "rank": _number("RANK"),
        "local_ranks": _number("LOCAL_WORLD_SIZE") or 1,
        "world": _number("WORLD_SIZE") or 1,
        "device": device,
        "versions": {"python": sys.version.split()[0], "torch": str(torch.__version__), **_versions()},
        "flags": _flags(torch),
        "driver": next((name for module, name in DRIVERS if module in sys.modules), ""),
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "anomaly_detection": bool(torch.is_anomaly_enabled()),
        "optimizer": type(optimizer).__name__,
        "optimizer_fused": bool(optimizer.defaults["fused"]) if "fused" in optimizer.defaults else None,
        "trained_parameters": sum(p.numel() for p in parameters),
        "parameter_types": sorted({str(p.dtype).replace("torch.", "") for p in parameters}),
    }


def _versions() -> dict[str, str]:
    """Versions of the imported packages, from their metadata: as locks have them."""
    from importlib import metadata

    found = {}
    for name in PACKAGES:
        if name in sys.modules:
            try:
                found[name.replace("_", "-")] = metadata.version(name)
            except Exception:  # noqa: BLE001 - a package run from its sources has no metadata, or broken metadata
                continue
    return found


def _gpu_identity(torch: Any, where: Any) -> str | None:
    """The hash of the UUID by which the doctor knows a card again, whatever its number in this process."""
    import hashlib

    uuid = getattr(torch.cuda.get_device_properties(where), "uuid", None)
    if uuid is None:
        return None
    return hashlib.blake2b(("GPU-" + str(uuid)).encode(), digest_size=8, person=b"envdoctor gpu").hexdigest()


def _flags(torch: Any) -> dict[str, Any]:
    """The process-wide switches as they stand at the first step, read by the doctor's own table; {} without it."""
    path = os.environ.get(FLAGS)
    if not path:
        return {}
    try:
        return dict(runpy.run_path(path)["read_all"](torch))
    except Exception:  # noqa: BLE001 - the table is read for the report alone
        return {}


def describe_loader(loader: Any) -> dict[str, Any]:
    """How a DataLoader was made: what is needed to write it better."""
    dataset = loader.dataset
    try:
        length = len(dataset)
    except Exception:  # noqa: BLE001 - a dataset's len() is the user's code, and many streams have none
        length = None
    collate = getattr(loader, "collate_fn", None)
    sampler = type(getattr(loader, "sampler", None)).__name__
    return {
        "shuffle": sampler == "RandomSampler",
        "drop_last": bool(getattr(loader, "drop_last", False)),
        "sampler": sampler,
        "dataset": type(dataset).__name__,
        "length": length,
        "batch_size": loader.batch_size or getattr(getattr(loader, "batch_sampler", None), "batch_size", None),
        "workers": loader.num_workers,
        "pin_memory": bool(loader.pin_memory),
        "persistent_workers": bool(getattr(loader, "persistent_workers", False)),
        "prefetch_factor": getattr(loader, "prefetch_factor", None),
        "collate": getattr(collate, "__name__", type(collate).__name__),
    }


def usable_cores() -> int:
    """Cores this process may use: its affinity, and the container's quota (cgroup v2)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as stream:
            quota, period = stream.read().split()
        return cores if quota == "max" else min(cores, max(1, int(quota) // int(period)))
    except (OSError, ValueError):
        return cores


class Contention:
    """Share of time in which some task waited for a core since ``begin``, from /proc/pressure/cpu."""

    def __init__(self) -> None:
        self._since = 0.0
        self._total: float | None = None

    def begin(self) -> None:
        self._since, self._total = time.perf_counter(), _pressure_total()

    def found(self) -> dict[str, Any]:
        now, total = time.perf_counter(), _pressure_total()
        during = None
        if total is not None and self._total is not None and now > self._since:
            during = (total - self._total) / 1e6 / (now - self._since)
        return {"during": during, "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None}


def _pressure_total() -> float | None:
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as stream:
            return float(stream.readline().rpartition("total=")[2])
    except (OSError, ValueError):
        return None


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        return ""
    return ""


def _number(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else None
