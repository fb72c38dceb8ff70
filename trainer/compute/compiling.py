"""When torch.compile pays: per decoder layer, for runs long enough to earn its cold start back."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sysconfig
import time
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

import torch

from trainer.compute.hardware import cpu_flags
from trainer.data.tokens import default_cache
from trainer.errors import in_one_line

# Share of a step's time that compiled layers save. GPU: torchtitan's +15.7 % tokens/s at 8B (8 x H100, its published
# table), the low end of what is known (torchtune: +27 % at 3B). CPU: 1.1 to 1.2 times as fast on chat-5m, 2 cores.
SAVING = {"cuda": 0.13, "cpu": 0.13}
# Seconds until every graph of one layer, forward and backward, is built. GPU: a whole 1B model took 22 s
# (ml-engineering, torch 2.13), one layer less. CPU: chat-5m on 2 cores took half a minute.
COLD_START = {"cuda": 20.0, "cpu": 30.0}
PAYS = 1.2  # times the cold start must be earned: Unsloth's rule for sentence transformers
# Share of the peak that a step reaches, to predict its time: GPU 0.4 (llm-foundry's H100 table has 0.35 to 0.46), CPU
# 0.5 of a measured matrix product.
REACHED = {"cuda": 0.4, "cpu": 0.5}


@dataclass(frozen=True)
class CompileDecision:
    """Whether to compile, and why."""

    on: bool
    reason: str


def decide(steps: int, step_seconds: float | None, kind: str, missing: str | None) -> CompileDecision:
    """Pure: does a run of `steps` steps of `step_seconds` each on a device of this kind earn the cold start back?

    step_seconds: None where it cannot be predicted; missing: a tool that compiling needs and that is not there.
    """
    if missing:
        return CompileDecision(False, f"no {missing}, which compiling needs")
    if step_seconds is None:
        return CompileDecision(False, "the time of a step cannot be predicted: no peak_tflops is given")
    saved, price = steps * step_seconds * SAVING[kind], PAYS * COLD_START[kind]
    text = (
        f"{steps} steps of about {step_seconds:.3g} s would save {saved:.0f} s, and the cold start must earn "
        f"{price:.0f} s"
    )
    return CompileDecision(saved > price, text)


def predicted_seconds(flops: float, device: torch.device, peak: float = 0.0) -> float | None:
    """Of a step that needs `flops`, from the device's peak in FLOP/s or a timed matrix product; None for a GPU whose
    peak is 0, as nobody said what it is."""
    if device.type == "cuda":
        return flops / (REACHED["cuda"] * peak) if peak else None
    size = 512
    left, right = torch.ones(size, size), torch.ones(size, size)
    times = []
    for _ in range(4):
        begun = time.perf_counter()
        torch.mm(left, right)
        times.append(time.perf_counter() - begun)
    return flops * min(times) / (2 * size**3) / REACHED["cpu"]


def missing_tool(device: torch.device) -> str | None:
    """What Inductor needs here and does not find: triton, a C compiler and Python.h for a GPU (Triton builds the
    launcher of its kernels at run time: triton/runtime/build.py), a C++ compiler for the CPU.
    """
    if device.type == "cuda":
        if not util.find_spec("triton"):
            return "triton"
        if not _finds_any([os.environ.get("CC", ""), "gcc", "clang", "cc"]):
            return "C compiler"
        return None if (Path(sysconfig.get_path("include")) / "Python.h").is_file() else "Python.h (python3-dev)"
    return None if _finds_any([os.environ.get("CXX", ""), "g++", "clang++", "c++"]) else "C++ compiler"


def _finds_any(names: list[str]) -> bool:
    return any(name and shutil.which(name) for name in names)


def why_not(device: torch.device) -> str | None:
    """Why compiling does not work here, from both passes of a function of two operators; None where it does.

    It builds what every compiled layer needs, and takes seconds the first time on a machine.
    """
    missing = missing_tool(device)
    if missing:
        return f"no {missing}, which compiling needs"
    given = torch.linspace(-1.0, 1.0, 256, device=device).requires_grad_()
    try:
        torch.compile(lambda x: torch.nn.functional.silu(x) * x, fullgraph=True)(given).sum().backward()
    except Exception as error:  # noqa: BLE001 - compilers and their drivers raise what they like; layers run without
        torch.compiler.reset()
        return f"a trial failed: {in_one_line(error, 200)}"
    return None


def keep_compiled(device: torch.device) -> Path:
    """Point Inductor's and Triton's caches at a folder of this environment's own, unless the user has; returns it.

    Code compiled by another torch, for another device or another CPU is never met there.
    """
    folder = default_cache().parent / "compiled" / fingerprint(device)
    for name, inner in (("TORCHINDUCTOR_CACHE_DIR", "inductor"), ("TRITON_CACHE_DIR", "triton")):
        os.environ.setdefault(name, str(folder / inner))
    return folder


def fingerprint(device: torch.device) -> str:
    """Names everything that decides what compiled code looks like."""
    parts: dict[str, str] = {"python": platform.python_version(), "machine": platform.machine()}
    for name in ("torch", "triton", "transformers", "peft"):
        try:
            parts[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            parts[name] = "absent"
    if device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(device)
        parts["device"] = f"{torch.cuda.get_device_name(device)} {major}.{minor} CUDA {torch.version.cuda}"
    parts["cpu"] = " ".join(sorted(cpu_flags()))
    return hashlib.sha256(repr(sorted(parts.items())).encode()).hexdigest()[:16]
