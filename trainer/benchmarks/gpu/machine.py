"""What the machine is and how its GPU stands at the moment, by torch and NVML; nothing is set."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from pathlib import Path
from typing import Any, Dict, List, Optional

import torch

from trainer import hardware

PACKAGES = (
    "torch", "triton", "transformers", "accelerate", "peft", "datasets", "trl", "flash-attn", "numpy",
    "nvidia-cudnn-cu13", "nvidia-cublas",
)  # fmt: skip
ROOT = Path(__file__).resolve().parent.parent.parent.parent


def default_device() -> str:
    """cuda where it works."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def describe(device: torch.device) -> Dict[str, Any]:
    """Names, versions, memory and the state of the clocks."""
    cuda = device.type == "cuda"
    return {
        **hardware.describe(device), "python": platform.python_version(), "kernel": platform.release(),
        "versions": {name: _version(name) for name in PACKAGES}, "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version() if cuda else None,
        "memory": torch.cuda.get_device_properties(device).total_memory if cuda else None,
        "multiprocessors": torch.cuda.get_device_properties(device).multi_processor_count if cuda else None,
        "host_memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "peak_flops": hardware.peak_flops(device), "now": clocks(device),
    }  # fmt: skip


def _version(name: str) -> Optional[str]:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def nvml() -> Any:
    """(module, handle of the first GPU), or (None, None) where NVML does not answer."""
    try:
        import pynvml  # type: ignore[import-not-found,unused-ignore]

        pynvml.nvmlInit()
        return pynvml, pynvml.nvmlDeviceGetHandleByIndex(0)
    except Exception:  # noqa: BLE001 - without NVML the figures that it gives are absent, nothing else
        return None, None


def clocks(device: torch.device) -> Dict[str, Any]:
    """SM clock (MHz), power (W), temperature (C), utilisation (%), memory used (bytes); {} without NVML."""
    library, handle = nvml() if device.type == "cuda" else (None, None)
    if library is None:
        return {}
    readers: Dict[str, Any] = {
        "sm_clock": lambda: library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_SM),
        "watts": lambda: library.nvmlDeviceGetPowerUsage(handle) / 1000,
        "power_limit": lambda: library.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
        "temperature": lambda: library.nvmlDeviceGetTemperature(handle, library.NVML_TEMPERATURE_GPU),
        "utilisation": lambda: library.nvmlDeviceGetUtilizationRates(handle).gpu,
        "memory_used": lambda: library.nvmlDeviceGetMemoryInfo(handle).used,
        "driver": lambda: str(library.nvmlSystemGetDriverVersion()),
    }
    found: Dict[str, Any] = {}
    for name, read in readers.items():
        try:
            found[name] = read()
        except library.NVMLError as error:
            found[name] = str(error)
    return found


class Sampler:
    """Clock, power and utilisation twenty times a second while a block runs (NVML, in a thread)."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.samples, self._ends = device, [], False  # type: ignore[var-annotated]

    def __enter__(self) -> "Sampler":
        import threading

        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def _sample(self) -> None:
        while not self._ends:
            found = clocks(self.device)
            if not found:
                return
            self.samples.append(found)
            time.sleep(0.05)

    def __exit__(self, *_: Any) -> None:
        self._ends = True
        self._thread.join()

    def means(self) -> Dict[str, float]:
        """Mean of each figure; {} where there is no NVML."""
        names = ("sm_clock", "watts", "temperature", "utilisation")
        found: Dict[str, float] = {}
        for name in names:
            values: List[float] = [float(s[name]) for s in self.samples if isinstance(s.get(name), (int, float))]
            if values:
                found[name] = round(sum(values) / len(values), 1)
        return found
