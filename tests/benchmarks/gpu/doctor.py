"""`envdoctor check` on this machine: what it says, whether NVML, torch and cuInit agree with it, and what it costs."""

from __future__ import annotations

import ctypes
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tests.benchmarks.gpu import machine, program
from tests.benchmarks.gpu.session import Session, why


def measure(session: Session) -> None:
    """Check, facts, comparison, then times in turns, then preflight."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        doctor = program.interpreter(folder / "doctor")
        session.attempt("check", lambda: check(session, doctor, folder), 20)
        session.attempt("facts", lambda: facts(doctor, folder), 20)
        told = session.rows.get("facts", {}).get("facts")
        if told is not None:
            session.attempt("agreement", lambda: compared(session, told), 5)
        session.attempt("cost", lambda: cost(session, doctor, folder), 60)
        if session.full:
            session.attempt("preflight", lambda: preflight(session, doctor, folder), 100)
    session.table(shown(session))


def target(session: Session) -> str:
    """The one that names this device: the doctor must then find that chip, or say what else it is."""
    return machine.target_name(session.device)


def words(doctor: str, *more: str) -> list[str]:
    """The program's command line, of this environment."""
    return [doctor, "-m", "envdoctor", *more, "--env", program.environment_here()]


def check(session: Session, doctor: str, folder: Path) -> dict[str, Any]:
    """Its findings. Exit codes 0 and 1 are answers, 2 and 3 are not."""
    done = program.run(words(doctor, "check", "--target", target(session), "--format", "json"), 120, folder)
    if done.code not in (0, 1):
        raise RuntimeError("check ended with %d: %s" % (done.code, done.err.strip()[-300:]))
    automatic = program.run(words(doctor, "check", "--format", "json"), 120, folder)
    return {"code": done.code, "document": json.loads(done.out), "stderr": done.err, "auto": automatic.out[:20000]}


def facts(doctor: str, folder: Path) -> dict[str, Any]:
    """What it collected, scrubbed for sharing."""
    path = folder / "facts.json"
    done = program.run(words(doctor, "facts", "--output", str(path)), 120, folder)
    if done.code:
        raise RuntimeError("facts ended with %d: %s" % (done.code, done.err.strip()[-300:]))
    return {"facts": json.loads(path.read_text("utf-8"))["facts"]}


def compared(session: Session, told: dict[str, Any]) -> dict[str, Any]:
    """Each fact of the GPU beside what another way of asking says."""
    pairs: dict[str, tuple[Any, Any]] = {
        "torch version": (told["torch"].get("version"), torch.__version__),
        "torch's CUDA": (told["torch"].get("cuda"), torch.version.cuda or ""),
        "CUDA usable": (told["torch"].get("cuda_available"), torch.cuda.is_available()),
        "python": (told["interpreter"].get("version"), sys.version.split()[0]),
    }
    if session.device.type == "cuda":
        pairs.update(_of_gpu(session, told))
    differing = [name for name, (one, other) in pairs.items() if one != other]
    return {"pairs": {name: list(pair) for name, pair in pairs.items()}, "differing": differing}


def _of_gpu(session: Session, told: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    gpu, driver = told["gpus"]["devices"][0], told["driver"]
    properties = torch.cuda.get_device_properties(session.device)
    library, handle = machine.nvml()
    code = ctypes.CDLL("libcuda.so.1").cuInit(0)
    found: dict[str, tuple[Any, Any]] = {
        "name": (gpu["name"], properties.name),
        "capability": (gpu["capability"], "%d.%d" % (properties.major, properties.minor)),
        "cuInit": (driver.get("cuinit"), code),
        "number of GPUs": (len(told["gpus"]["devices"]), torch.cuda.device_count()),
        # NVML counts what the driver keeps for itself, torch does not; they agree within 2 %.
        "memory within 2 %": (True, abs(gpu["memory"] / properties.total_memory - 1) < 0.02),
    }
    if library is not None:
        found["driver"] = (driver.get("kernel_module"), str(library.nvmlSystemGetDriverVersion()))
        found["memory by NVML"] = (gpu["memory"], library.nvmlDeviceGetMemoryInfo(handle).total)
        limit = library.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000
        found["power limit"] = (gpu["power_limit"], limit)
        found["largest SM clock"] = (
            gpu["sm_clock_max"], library.nvmlDeviceGetMaxClockInfo(handle, library.NVML_CLOCK_SM),
        )  # fmt: skip
    return found


def cost(session: Session, doctor: str, folder: Path) -> dict[str, Any]:
    """Seconds of check, check without torch, and `import torch` alone, in turns."""
    commands: dict[str, list[str]] = {
        "check": words(doctor, "check", "--target", target(session), "--format", "json"),
        "check --no-torch": words(doctor, "check", "--target", target(session), "--format", "json", "--no-torch"),
        "import torch": [sys.executable, "-c", "import torch"],
        "import torch, start CUDA": [sys.executable, "-c", "import torch; torch.cuda.is_available()"],
    }
    found: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(session.pick(1, 5)):
        for name in list(commands) if turn % 2 == 0 else list(commands)[::-1]:
            begun = time.perf_counter()
            program.run(commands[name], 120, folder)
            found[name].append(round(time.perf_counter() - begun, 3))
    return {"seconds": found, "median": {name: statistics.median(values) for name, values in found.items()}}


def preflight(session: Session, doctor: str, folder: Path) -> dict[str, Any]:
    """The whole story, with the smallest workload."""
    more = ("preflight", "--target", target(session), "--workload", "chat-30m", "--format", "json")
    done = program.run(words(doctor, *more), 280, folder)
    if done.code not in (0, 1, 3):
        raise RuntimeError("preflight ended with %d: %s" % (done.code, done.err.strip()[-300:]))
    return {"code": done.code, "document": json.loads(done.out) if done.out else None, "stderr": done.err[-2000:]}


def shown(session: Session) -> list[str]:
    """The table."""
    lines: list[str] = []
    makers: dict[str, Callable[[dict[str, Any]], list[str]]] = {
        "check": _findings, "agreement": _pairs, "cost": _cost, "preflight": _preflight, "facts": lambda _: [],
    }  # fmt: skip
    for name, row in session.rows.items():
        if "error" in row or "not run" in row:
            lines.append("%s: %s" % (name, why(row, 300)))
        else:
            lines += makers[name](row)
    return lines


def _findings(row: dict[str, Any]) -> list[str]:
    document = row["document"]
    lines = ["check: exit code %d, target %s" % (row["code"], document.get("target", {}).get("name"))]
    return lines + [
        "  %-8s %-40s %s" % (one.get("severity"), one.get("rule"), str(one.get("title", ""))[:90])
        for one in document.get("findings", [])
    ]


def _pairs(row: dict[str, Any]) -> list[str]:
    lines = [
        "facts beside other sources: %d, differing: %s" % (len(row["pairs"]), ", ".join(row["differing"]) or "none")
    ]
    return lines + ["  %s: envdoctor %s, other %s" % (name, *row["pairs"][name]) for name in row["differing"]]


def _cost(row: dict[str, Any]) -> list[str]:
    return ["%-26s %6.2f s (of %d)" % (name, value, len(row["seconds"][name])) for name, value in row["median"].items()]


def _preflight(row: dict[str, Any]) -> list[str]:
    speed = (row["document"] or {}).get("speed") or {}
    return ["preflight: exit code %d, speed: %s" % (row["code"], speed.get("verdict") or speed.get("word"))]
