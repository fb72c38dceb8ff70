"""Whose source file a CUDA error names: the extension whose code was at work, told from the path."""

from __future__ import annotations

from envdoctor.values import shell
from envdoctor.values.pattern import Pattern

_IN = r"(?:[\w.-]{1,60}[/\\]){0,6}[\w.-]{1,60}\.(?:cu|cuh|h|hpp|cpp|cc|inl)(?::\d{1,5}|\(\d{1,5}\)|\b.{0,10}\bline \d)"
_FILE = Pattern(
    r"[/\\](?P<name>[A-Za-z][\w.-]{2,40})[/\\](?:include|src|csrc|cuda|kernels?|lib|bindings|cpp|ops)[/\\]" + _IN
)
_PART = Pattern(r"[/\\](?:submodules|third_party|extensions|3rdparty)[/\\](?P<name>[A-Za-z][\w.-]{2,40})[/\\]" + _IN)
"""A library that lies within another project."""
_OWN = Pattern(
    r"(?i)(?:torch|pytorch|aten|c10|cuda[\d.-]*|caffe2|nccl|thrust|cub|build\w*|src|csrc|include|lib\w*|usr|local"
    r"|targets|tmp.*"
    r"|home|opt|root|workspace|x86_64-linux-gnu|site-packages|dist-packages|pip-.*|[\d.]+)",
)
"""torch's own folders and those of every machine: they name nobody."""


_PACKAGES = {
    "tiny-cuda-nn": "tinycudann",
    "flash-attention": "flash-attn",
    "mamba": "mamba-ssm",
    "causal-conv1d": "causal-conv1d",
    "xformers": "xformers",
    "gsplat": "gsplat",
    "diff-gaussian-rasterization": "diff-gaussian-rasterization",
    "simple-knn": "simple-knn",
    "natten": "natten",
}
"""How pip calls what lies in a folder of that name."""


def source_library(said: str) -> str:
    """The name of the folder with the source, "" where none or torch's own is named."""
    for found in (*_PART.finditer(said), *_FILE.finditer(said)):
        if not _OWN.fullmatch(found["name"]):
            return found["name"]
    return ""


def usual(name: str) -> str:
    return (
        f"it is {name} itself, whose source file the error names: a fault of that commit or release, or a build for "
        "another GPU, torch or CUDA than those here; else it was given an index or a size that is out of range"
    )


def advice(name: str) -> tuple[str, tuple[str, ...]]:
    """Another state of the library, compiled here for this GPU."""
    package = _PACKAGES.get(name.lower(), "")
    text = (
        f"Remove {name} and install another commit or release of it (the last with which it worked, or the newest), "
        f"compiled here for this GPU's architecture, against this torch and a toolkit of its CUDA line; look among "
        f"{name}'s issues for the file that is named. Where it stays, CUDA_LAUNCH_BLOCKING=1 and compute-sanitizer "
        "show the call, and with it the sizes that it was given."
    )
    commands = (
        "python -c 'import torch; print(torch.version.cuda, torch.cuda.get_device_capability())'",
        shell.with_names("python -m pip uninstall -y", package) if package else "",
    )
    return text, tuple(filter(None, commands))
