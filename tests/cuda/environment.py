"""The kept environment: the CUDA build of torch and what the trainer needs beside it, made once.

It lies in $ENVDOCTOR_CUDA_ENV, or in the user's cache folder, and takes about 5 GB. uv makes it, because uv takes torch
from the registry whatever pip is configured to: there, the wheel for Linux is the CUDA build.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from uv import find_uv_bin

# Exact, so that the golden tables mean one thing. The trainer's own requirements are wider.
PACKAGES = (
    "torch==2.13.0", "transformers==5.23.0", "accelerate==1.15.0", "datasets==5.2.0", "peft==0.21.2",
    "safetensors==0.8.0",
)  # fmt: skip
# In folders of their own: most runs do without them.
LIGER, BITSANDBYTES, TORCHAO = "liger-kernel==0.8.5", "bitsandbytes==0.50.2", "torchao==0.18.0"
STAMP = "made-from.json"
STUBS = Path(__file__).parent / "stubs"
MINUTES = 40  # for 3 GB over a slow line


class NoEnvironment(Exception):
    """Why there is no environment, and what to do."""


@dataclass(frozen=True)
class Environment:
    """A Python with the CUDA build of torch, and the folder of the two stub libraries beside it."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def stubs(self) -> Path:
        return self.folder / "stubs"

    def variables(self, *projects: Path) -> dict[str, str]:
        """A child's variables: the stubs go before torch, and the first of `projects` that has a module gives it."""
        kept = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("CUDA_", "NVIDIA_", "RANK", "WORLD_SIZE", "LOCAL_", "PYTORCH_", "TORCH"))
        }  # fmt: skip
        return {
            **kept, "LD_PRELOAD": str(self.stubs / "device.so"), "LD_LIBRARY_PATH": str(self.stubs),
            "PYTHONPATH": os.pathsep.join(map(str, projects)), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1",
            "TOKENIZERS_PARALLELISM": "false",
        }  # fmt: skip


def default_folder() -> Path:
    """Where the environment is kept."""
    if "ENVDOCTOR_CUDA_ENV" in os.environ:
        return Path(os.environ["ENVDOCTOR_CUDA_ENV"]).expanduser().absolute()
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "envdoctor" / "cuda-environment"


def ensure(folder: Path, base: str) -> Environment:
    """The environment in `folder`, made or made anew for the interpreter `base` where it was made from other things."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _alone(folder.with_name(folder.name + ".lock")):
        stamp, wanted = folder / STAMP, {"python": platform.python_version(), "packages": list(PACKAGES)}
        if not stamp.is_file() or json.loads(stamp.read_text("utf-8")) != wanted:
            if folder.exists() and any(folder.iterdir()) and not stamp.is_file():
                raise NoEnvironment(f"{folder} holds something else: set ENVDOCTOR_CUDA_ENV to a folder of its own")
            shutil.rmtree(folder, ignore_errors=True)
            _install(folder, base)
            stamp.write_text(json.dumps(wanted), "utf-8")
        environment = Environment(folder)
        _compile(environment)
    return environment


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def library(environment: Environment, package: str) -> Path:
    """A folder with one more package, without what that requires, for PYTHONPATH."""
    folder = environment.folder / "libraries" / package
    with _alone(environment.folder.with_name(environment.folder.name + ".lock")):
        if not folder.exists():
            half = folder.with_name(folder.name + ".half")
            shutil.rmtree(half, ignore_errors=True)
            install = [find_uv_bin(), "pip", "install", "-q", "--no-deps", "--python", str(environment.python)]
            _run([*install, "--target", str(half), package])
            half.rename(folder)
    return folder


def _install(folder: Path, base: str) -> None:
    _run([find_uv_bin(), "venv", "-q", "--python", base, str(folder)])
    # A half-made folder has a stamp of its own, so that the next attempt knows it may be removed.
    (folder / STAMP).write_text("null", "utf-8")
    _run([find_uv_bin(), "pip", "install", "-q", "--python", str(folder / "bin" / "python"), *PACKAGES])
    built = _run([str(folder / "bin" / "python"), "-c", "import torch; print(torch.version.cuda)"]).strip()
    if built == "None":
        raise NoEnvironment("uv installed a torch without CUDA: take UV_INDEX_URL and uv.toml out of its way")


def _compile(environment: Environment) -> None:
    """The two libraries, with the header that the environment's own CUDA brought, unless they are newer than both."""
    headers = next(environment.folder.glob("lib/python*/site-packages/nvidia/*/include/driver_types.h")).parent
    environment.stubs.mkdir(exist_ok=True)
    for source, target in (("device.c", "device.so"), ("driver.c", "libcuda.so.1")):
        made = environment.stubs / target
        if made.exists() and made.stat().st_mtime >= (STUBS / source).stat().st_mtime:
            continue
        flags = ["-O1", "-shared", "-fPIC", "-Wall", "-Werror", f"-I{STUBS}", f"-I{headers}"]
        _run([compiler(), *flags, "-o", str(made), str(STUBS / source)])


def compiler() -> str:
    """A C compiler; NoEnvironment when there is none."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return name
    raise NoEnvironment("no C compiler: install one (gcc or clang), or name it in CC")


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 * MINUTES, check=False)
    if done.returncode:
        raise NoEnvironment(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout
