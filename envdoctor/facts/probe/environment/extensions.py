"""Compiled extensions of torch: what they were built for, as their metadata and their own notes say."""

from __future__ import annotations

import json
import os
import re

from .files import regular
from .packages import Found, Reading

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

KNOWN = frozenset(
    """
    apex bitsandbytes causal-conv1d deepspeed flash-attn flash-attn-3 flashinfer-python mamba-ssm natten
    pytorch-triton torchao torchaudio torchcodec torchtext torchvision torch-scatter torch-sparse torch-cluster
    transformer-engine transformer-engine-cu12 transformer-engine-cu13 transformer-engine-torch triton vllm xformers
    """.split()
)
BINARY = re.compile(r"(?m)^([^,\n\"]+\.(?:so|pyd|dll)(?:\.[0-9.]+)?),")


def read(reading: Reading) -> List[Dict[str, Any]]:
    """A list of facts.Extension values."""
    extensions = []
    seen = set()
    for found in reading.found:
        name = found.value["name"]
        label = _label(found)
        if name in seen or (name not in KNOWN and not re.search(r"torch\d|(?:^|\.|\+)pt\d\d", label)):
            continue
        seen.add(name)
        value: Dict[str, Any] = {
            "name": name,
            "version": found.value["version"],
            "torch": _torch_of_label(label) or _required_torch(found),
            "cuda": _cuda_of_label(label),
            "python": _python(found),
            "cxx11_abi": _abi(label),
            "binaries": _binaries(found),
        }
        value.update(_notes(found))
        extensions.append(value)
    return extensions


def _label(found: Found) -> str:
    """Local version plus the local version in the wheel's file name, which may say more: +cu12torch2.8cxx11abiTRUE."""
    local = found.value["version"].partition("+")[2]
    wheel = found.url.rpartition("/")[2].replace("%2B", "+").replace("%2b", "+")
    pieces = wheel[:-4].split("-") if wheel.endswith(".whl") else []
    return ".".join(filter(None, (local, pieces[1].partition("+")[2] if len(pieces) >= 5 else "")))


def _torch_of_label(label: str) -> Optional[str]:
    found = re.search(r"torch(\d+\.\d+(?:\.\d+)?)", label)
    if found:
        return found[1]
    found = re.search(r"(?:^|\.)pt(\d)(\d{1,2})(\d)?(?:\D|$)", label)  # pt25, pt210: torch 2.5, 2.10
    return "%s.%s" % (found[1], found[2]) if found else None


def _cuda_of_label(label: str) -> Optional[str]:
    """cu128 -> 12.8; cu12 -> 12, where the build holds for every 12.x; cpu -> ""."""
    found = re.search(r"(?:^|[.+])cu(\d{2})(\d)?(?!\d)", label)
    if found:
        return found[1] + ("." + found[2] if found[2] else "")
    return "" if re.search(r"(?:^|\.)cpu(?:$|\.|[a-z])", label) else None


def _abi(label: str) -> Optional[bool]:
    found = re.search(r"cxx11abi(TRUE|FALSE)", label, re.IGNORECASE)
    return found[1].upper() == "TRUE" if found else None


def _required_torch(found: Found) -> Optional[str]:
    """The torch that the metadata pins exactly ("torch==2.8.0"), as torchvision, xformers and vllm do."""
    for requirement in found.value["requires"]:
        pinned = re.match(r"torch\s*\(?==\s*([0-9][^\s,;)]*)", requirement)
        if pinned:
            return pinned[1]
    return None


def _python(found: Found) -> Optional[str]:
    for tag in found.value["tags"]:
        python = re.match(r"cp(\d)(\d+)-(abi3)?", tag)
        if python:
            return "%s.%s%s" % (python[1], python[2], "+" if python[3] else "")
    return None


def _binaries(found: Found) -> List[str]:
    paths = BINARY.findall((found.record or b"").decode("utf-8", "replace").replace("\r", ""))
    if found.value["name"] == "bitsandbytes" and not paths:
        folder = os.path.join(found.location, "bitsandbytes")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        paths = ["bitsandbytes/" + name for name in names if name.endswith(".so")]
    return sorted(paths)[:60]


def _notes(found: Found) -> Dict[str, Any]:
    """What a package itself keeps about its build, in a file that can be read without importing it."""
    readers = {
        "xformers": ("xformers/cpp_lib.json", _xformers),
        "torchvision": ("torchvision/version.py", _version_file),
        "torchaudio": ("torchaudio/version.py", _version_file),
        "deepspeed": ("deepspeed/git_version_info_installed.py", _deepspeed),
    }
    if found.value["name"] not in readers:
        return {}
    path, reader = readers[found.value["name"]]
    try:
        with open(os.path.join(found.location, path), encoding="utf-8", opener=regular) as stream:
            return reader(stream.read(1 << 18))
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # the note is extra: absent in source builds and in other versions


def _xformers(text: str) -> Dict[str, Any]:
    data = json.loads(text)
    version, settings = data["version"], data.get("env", {})
    notes: Dict[str, Any] = {"torch": str(version["torch"]).partition("+")[0], "python": str(version["python"])}
    cuda = version.get("cuda")
    if cuda:
        notes["cuda"] = "%d.%d" % divmod(int(cuda), 100) if str(cuda).isdigit() else str(cuda)
    architectures = settings.get("TORCH_CUDA_ARCH_LIST")
    if architectures:
        notes["architectures"] = re.split(r"[ ;]+", str(architectures).strip())
    return notes


def _version_file(text: str) -> Dict[str, Any]:
    cuda = re.search(r"(?m)^cuda(?:: \S+)? = ['\"]([\d.]+)['\"]", text)
    return {"cuda": cuda[1]} if cuda else {}


def _deepspeed(text: str) -> Dict[str, Any]:
    notes: Dict[str, Any] = {}
    for key, field in (("version", "torch"), ("cuda_version", "cuda")):
        found = re.search(r"torch_info\s*=\s*\{[^}]*'%s':\s*'([\d.]+)" % key, text)
        if found and found[1] not in ("0.0", "0"):
            notes[field] = found[1]
    return notes
