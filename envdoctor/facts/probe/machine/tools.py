"""Compilers and CUDA toolkits, by their files: none of them is run."""

from __future__ import annotations

import os
import re

from .reading import Root

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional


def read(root: Root, environ: Mapping[str, str]) -> Dict[str, Any]:
    """The fields compiler, nvcc and toolkits of facts.Host."""
    return {"compiler": compiler(root, environ), "nvcc": nvcc(root, environ), "toolkits": toolkits(root)}


def compiler(root: Root, environ: Mapping[str, str]) -> str:
    """The C compiler that torch.compile and Triton would call ($CC, cc, gcc, clang), with its version; "" for none."""
    chosen = environ.get("CC", "").split(" ")[0]
    for name in filter(None, (chosen, "cc", "gcc", "clang")):
        path = name if os.path.isabs(name) else which(root, name, environ.get("PATH", os.defpath))
        if path and os.access(root.path(path), os.X_OK):
            return _tool_name(root, path)
    return ""


def _tool_name(root: Root, path: str) -> str:
    real = os.path.realpath(root.path(path))
    base = os.path.basename(real)
    kind = "clang" if "clang" in base else "gcc" if "gcc" in base or base in ("cc", "c++") else base
    version = re.search(r"-(\d+(?:\.\d+)*)$", base)
    if version:
        return kind + " " + version[1]
    if kind == "gcc":
        # gcc keeps its parts in a folder named by version, below the prefix that it was installed to
        own = os.path.join(os.path.dirname(os.path.dirname(path)), "lib/gcc")
        for library in ("/usr/lib/gcc", "/usr/lib64/gcc", own):
            folders = [library + "/" + machine for machine in root.names(library)]
            versions = [name for folder in folders for name in root.names(folder) if name[0].isdigit()]
            if versions:
                return "gcc " + max(versions, key=_numbers)
    return kind


def nvcc(root: Root, environ: Mapping[str, str]) -> str:
    """Version of the CUDA toolkit that extensions would be built with; "" for none."""
    home = environ.get("CUDA_HOME") or environ.get("CUDA_PATH")
    folders = [home] if home else []
    path = which(root, "nvcc", environ.get("PATH", os.defpath))
    if path:
        folders.append(os.path.dirname(os.path.dirname(os.path.realpath(root.path(path)))[len(root.base) :]))
    folders.append("/usr/local/cuda")
    present = [folder for folder in folders if root.exists(folder + "/bin/nvcc")]
    versions = (toolkit_version(root, folder) for folder in present)
    return next(filter(None, versions), "unknown" if present else "")


def toolkits(root: Root) -> List[str]:
    """Versions of the toolkits under /usr/local, by their folders."""
    found = []
    for name in root.names("/usr/local"):
        version = re.match(r"cuda-(\d+(?:\.\d+)*)$", name)
        if version and root.exists("/usr/local/" + name + "/bin/nvcc"):
            found.append(version[1])
    return sorted(found, key=_numbers)


def toolkit_version(root: Root, folder: str) -> Optional[str]:
    """From version.json (CUDA 11.1 and later), cuda.h, or the folder's name."""
    found = re.search(r'"cuda"\s*:\s*\{[^}]*"version"\s*:\s*"([\d.]+)"', root.text(folder + "/version.json") or "")
    if found:
        return found[1]
    for include in ("/include/cuda.h", "/targets/x86_64-linux/include/cuda.h"):
        number = re.search(r"#define\s+CUDA_VERSION\s+(\d+)", root.text(folder + include) or "")
        if number:
            return "%d.%d" % (int(number[1]) // 1000, int(number[1]) % 1000 // 10)
    named = re.search(r"cuda-(\d+(?:\.\d+)*)$", os.path.realpath(root.path(folder)))
    return named[1] if named else None


def which(root: Root, name: str, path: str) -> Optional[str]:
    """The program in the absolute directories of PATH."""
    for folder in path.split(os.pathsep):
        candidate = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(root.path(candidate)) and os.access(root.path(candidate), os.X_OK):
            return candidate
    return None


def _numbers(version: str) -> List[int]:
    return [int(part) for part in re.findall(r"\d+", version)]
