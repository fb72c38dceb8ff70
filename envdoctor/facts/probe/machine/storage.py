"""Directories that training writes to or compiles in. Read last: a dead network share blocks whoever asks it."""

from __future__ import annotations

import os

from .mounts import Mount, existing_parent, mount_of
from .reading import Root

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple


def shared_memory(root: Root) -> Dict[str, Optional[int]]:
    """Size and free bytes of /dev/shm, through which DataLoader workers and NCCL pass data."""
    try:
        found = os.statvfs(root.path("/dev/shm"))
    except OSError:
        return {"shm": None, "shm_free": None}
    return {"shm": found.f_blocks * found.f_frsize, "shm_free": found.f_bavail * found.f_frsize}


def places(environ: Mapping[str, str], prefix: str, cwd: str) -> Iterator[Tuple[str, str]]:
    """Purposes and paths, as torch, Triton, huggingface_hub and the CUDA driver choose them."""
    home = environ.get("HOME") or os.path.expanduser("~")
    caches = environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    temporary = next((environ[name] for name in ("TMPDIR", "TEMP", "TMP") if environ.get(name)), "/tmp")
    triton = os.path.join(environ.get("TRITON_HOME") or home, ".triton", "cache")
    hub = environ.get("HF_HOME") or os.path.join(caches, "huggingface")
    yield "environment", prefix
    yield "working-directory", cwd
    yield "temporary", temporary
    yield "triton-cache", environ.get("TRITON_CACHE_DIR") or triton
    yield (
        "inductor-cache",
        environ.get("TORCHINDUCTOR_CACHE_DIR") or os.path.join(temporary, "torchinductor_" + _user()),
    )
    yield "hf-home", hub
    for name, purpose in (("HF_HUB_CACHE", "hf-hub-cache"), ("HF_DATASETS_CACHE", "hf-datasets-cache")):
        if environ.get(name):
            yield purpose, environ[name]
    yield "cuda-cache", environ.get("CUDA_CACHE_PATH") or os.path.join(home, ".nv", "ComputeCache")
    yield "torch-home", environ.get("TORCH_HOME") or os.path.join(caches, "torch")


def look(mounts: List[Mount], purpose: str, path: str) -> Dict[str, Any]:
    """One directory; where it does not exist yet, the nearest one above it, in which it would be made."""
    path = os.path.abspath(os.path.expanduser(path))
    real = os.path.realpath(existing_parent(path))
    mount = mount_of(mounts, real)
    value: Dict[str, Any] = {
        "purpose": purpose,
        "path": path,
        "filesystem": _filesystem(mount),
        "writable": os.access(real, os.W_OK | os.X_OK),
    }
    try:
        found = os.statvfs(real)
    except (OSError, AttributeError):
        return value
    value["noexec"] = bool(found.f_flag & getattr(os, "ST_NOEXEC", 8))
    value["free"] = found.f_bavail * found.f_frsize
    if found.f_files:
        value["free_inodes"] = found.f_favail
    return value


def _filesystem(mount: Optional[Mount]) -> Optional[str]:
    return mount.filesystem if mount is not None else None


def _user() -> str:
    """As `getpass.getuser`, which loads what asking for passwords takes."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        if os.environ.get(name):
            return os.environ[name]
    try:
        import pwd

        return pwd.getpwuid(os.getuid())[0]
    except Exception:  # no entry in the password database, no variable
        return str(os.getuid()) if hasattr(os, "getuid") else "user"
