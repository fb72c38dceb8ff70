"""Small wheels made on the spot, a folder of them as the only index, and locks to be judged."""

from __future__ import annotations

import hashlib
import os
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from envdoctor.locks.platforms import interpreter
from envdoctor.locks.stack import Stack
from envdoctor.locks.writing import write
from envdoctor.locks.writing.inputs import Inputs
from envdoctor.locks.writing.lock import write_stack
from envdoctor.sources import sources
from envdoctor.sources.sources import Sources

MakeWheel = Callable[..., Path]


def build_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    tag: str = "py3-none-any",
    build: str = "",
    requires: tuple[str, ...] = (),
    extras: tuple[str, ...] = (),
    content: str = "",
) -> Path:
    """A wheel that pip and uv install: one module, METADATA with the given Requires-Dist."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    metadata = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Provides-Extra: {extra}" for extra in extras),
        *(f"Requires-Dist: {line}" for line in requires),
    ]
    tags = [f"Tag: {python}-{abi}-{platform}" for python, abi, platform in _expanded(tag)]
    files = {
        f"{name.replace('-', '_')}.py": content or f"version = {version!r}\n",
        f"{info}/METADATA": "\n".join(metadata) + "\n\n",
        f"{info}/WHEEL": "\n".join(["Wheel-Version: 1.0", "Generator: tests", "Root-Is-Purelib: true", *tags]) + "\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "-".join(part for part in (stem, build, tag) if part)
    path = path.with_name(path.name + ".whl")
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(zipfile.ZipInfo(file, date_time=(2024, 1, 1, 0, 0, 0)), text)
    return path


def _expanded(tag: str) -> list[tuple[str, str, str]]:
    pythons, abis, platforms = (part.split(".") for part in tag.split("-"))
    return [(python, abi, platform) for python in pythons for abi in abis for platform in platforms]


def sources_of(folder: Path, home: Path, **more: str) -> Sources:
    """The folder's wheels and nothing else: no index, nobody's configuration."""
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PIP_CONFIG_FILE": os.devnull,
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(folder),
        "UV_CACHE_DIR": str(home / "cache"),
        **more,
    }
    return sources.read(Path(sys.prefix), variables=variables, folder=home)


def index_of(folder: Path) -> str:
    """A package index (PEP 503) of the wheels in a folder; its address."""
    for wheel in sorted(folder.glob("*.whl")):
        project = folder / "simple" / wheel.name.partition("-")[0].replace("_", "-")
        project.mkdir(parents=True, exist_ok=True)
        with (project / "index.html").open("a") as page:
            page.write(f'<a href="{wheel.as_uri()}#sha256={sha256(wheel)}">{wheel.name}</a>\n')
    return (folder / "simple").as_uri()


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def shelved(shelf: Path, home: Path) -> Sources:
    """Sources that know the shelf only."""
    return sources_of(shelf, home)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def wheel(project: str, release: str = "1.0", /, *, tag: str = "py3-none-any", **fields: Any) -> dict[str, Any]:
    """One wheel entry of a lock, sound unless ``fields`` say otherwise."""
    digest = hashlib.sha256(f"{project}{release}{tag}".encode()).hexdigest()
    entry = {"path": f"wheels/{project}-{release}-{tag}.whl", "size": 1000, "hashes": {"sha256": digest}}
    return {key: value for key, value in {**entry, **fields}.items() if value is not None}


def package(project: str, release: str = "1.0", /, **fields: Any) -> dict[str, Any]:
    entry = {"name": project, "version": release, "wheels": [wheel(project, release)]}
    return {key: value for key, value in {**entry, **fields}.items() if value is not None}


def lock(*packages: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A sound lock of the packages (alpha 1.0 and beta 1.0 when none are named)."""
    entry: dict[str, Any] = {
        "lock-version": "1.0",
        "requires-python": ">=3.10,<3.15",
        "created-by": "a test",
        "packages": list(packages) or [package("alpha", dependencies=[{"name": "beta"}]), package("beta")],
    }
    return {key: value for key, value in {**entry, **fields}.items() if value is not None}


def write_lock(folder: Path, data: Mapping[str, Any], name: str = "case") -> Path:
    path = folder / f"pylock.{name}.toml"
    path.write_text(write.text(data), "utf-8")
    return path


PYTHON = ".".join(map(str, sys.version_info[:2]))
HERE = interpreter(PYTHON, "x86_64")


@pytest.fixture
def locked(shelf: Path, shelved: Sources, tmp_path: Path) -> Stack:
    build_wheel(shelf, "alpha", "1.0", requires=("beta>=1",))
    build_wheel(shelf, "beta", "1.0+cpu")
    build_wheel(shelf, "gamma", "2.0", tag=f"cp{PYTHON.replace('.', '')}-abi3-manylinux_2_17_x86_64")
    inputs = Inputs(requirements=("alpha", "gamma"), pythons=(PYTHON,), machines=("x86_64",))
    return write_stack("small", inputs, folder=tmp_path / "locks", sources=shelved).stack


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []
