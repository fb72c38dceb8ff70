"""What the machine is and how its GPU stands at the moment, by torch and NVML; nothing is set."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from trainer.compute import hardware

PACKAGES = (
    "torch", "triton", "transformers", "accelerate", "peft", "datasets", "trl", "flash-attn", "numpy",
    "nvidia-cudnn-cu13", "nvidia-cublas",
)  # fmt: skip
ROOT = Path(__file__).resolve().parent.parent.parent.parent


def default_device() -> str:
    """cuda where it works."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def describe(device: torch.device) -> dict[str, Any]:
    """Names, versions, memory and the state of the clocks."""
    cuda = device.type == "cuda"
    return {
        **asdict(hardware.describe(device)), "python": platform.python_version(), "kernel": platform.release(),
        "versions": {name: _version(name) for name in PACKAGES}, "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version() if cuda else None,
        "memory": torch.cuda.get_device_properties(device).total_memory if cuda else None,
        "multiprocessors": torch.cuda.get_device_properties(device).multi_processor_count if cuda else None,
        "host_memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "peak_flops": peak_flops(device), "now": clocks(device),
    }  # fmt: skip


def board(device: torch.device) -> dict[str, Any]:
    """The row of this GPU in the doctor's table; {} for one without, and where Python (< 3.11) cannot read it."""
    try:
        import tomllib
    except ImportError:
        return {}
    name = torch.cuda.get_device_name(device).removeprefix("NVIDIA ") if device.type == "cuda" else ""
    table = tomllib.loads((ROOT / "envdoctor" / "knowledge" / "gpus.toml").read_text("utf-8"))
    return next((row for row in table["gpu"] if name in (row["name"], *row.get("aliases", ()))), {})


def target_name(device: torch.device) -> str:
    """The target whose file names this device: what is measured here belongs there. ValueError where none does, since
    a neighbour's file would be the wrong place for it.
    """
    if device.type != "cuda":
        return "cpu"
    import tomllib  # Python 3.11 on

    name = torch.cuda.get_device_name(device)
    for path in sorted((ROOT / "lockfiles" / "targets").glob("*.toml")):
        if name in tomllib.loads(path.read_text("utf-8")).get("gpu", {}).get("names", ()):
            return path.stem
    raise ValueError(f"no target names {name}: add it to one of lockfiles/targets, or write one for it")


def peak_flops(device: torch.device) -> float | None:
    """Dense tensor-core peak in FLOP/s; None for a CPU or a GPU without a row."""
    peak = board(device).get("peak", {})
    tflops = peak.get("bfloat16") or peak.get("float16")
    return tflops * 1e12 if tflops else None


def _version(name: str) -> str | None:
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


def clocks(device: torch.device) -> dict[str, Any]:
    """SM clock (MHz), power (W), temperature (C), utilisation (%), memory used (bytes); {} without NVML."""
    library, handle = nvml() if device.type == "cuda" else (None, None)
    if library is None:
        return {}
    readers: dict[str, Any] = {
        "sm_clock": lambda: library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_SM),
        "watts": lambda: library.nvmlDeviceGetPowerUsage(handle) / 1000,
        "power_limit": lambda: library.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
        "temperature": lambda: library.nvmlDeviceGetTemperature(handle, library.NVML_TEMPERATURE_GPU),
        "utilisation": lambda: library.nvmlDeviceGetUtilizationRates(handle).gpu,
        "memory_used": lambda: library.nvmlDeviceGetMemoryInfo(handle).used,
        "driver": lambda: str(library.nvmlSystemGetDriverVersion()),
    }
    found: dict[str, Any] = {}
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

    def __enter__(self) -> Sampler:
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

    def means(self) -> dict[str, float]:
        """Mean of each figure; {} where there is no NVML."""
        names = ("sm_clock", "watts", "temperature", "utilisation")
        found: dict[str, float] = {}
        for name in names:
            values: list[float] = [float(s[name]) for s in self.samples if isinstance(s.get(name), (int, float))]
            if values:
                found[name] = round(sum(values) / len(values), 1)
        return found
