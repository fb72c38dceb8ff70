"""Every bundled lock, cut down to small packages with real files: pip and uv install the same from it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.pylock import Pylock

from envdoctor.locks import stack
from envdoctor.locks.platforms import interpreter
from envdoctor.locks.writing.fetch import fetch
from envdoctor.sources import sources
from envdoctor.values.document import read_toml
from tests.locks.writing.conftest import write_lock
from tests.locks.writing.test_fetch import environment, files, install

LOCKS = sorted((Path(__file__).resolve().parents[3] / "lockfiles").glob("pylock.*.toml"))
SMALL = {"safetensors", "pyyaml", "filelock", "idna"}  # two of them compiled; none has more than 1 MB


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_packaging_accepts_the_whole_lock(path: Path) -> None:
    found = Pylock.from_dict(read_toml(path))
    assert {"torch", *SMALL} <= {package.name for package in found.packages}


@pytest.mark.install
@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_pip_and_uv_install_the_same_files(path: Path, tmp_path: Path) -> None:
    """The wheels come from whatever index is configured; after that neither network nor index is used."""
    data = read_toml(path)
    kept = [package for package in data["packages"] if package["name"] in SMALL]
    for entry in kept:
        entry.pop("dependencies", None)
    cut = stack.load(write_lock(tmp_path, {**data, "packages": kept}))
    own = sources.read(Path(sys.prefix), variables=dict(os.environ), folder=tmp_path)
    version = ".".join(map(str, sys.version_info[:2]))
    fetched = fetch(cut, interpreter(version, "x86_64", libc="glibc 2.36"), tmp_path / "stick", sources=own)
    assert fetched.files == len(SMALL)
    assert Pylock.from_dict(read_toml(fetched.lock)).packages
    by_uv, by_pip = environment(tmp_path / "uv"), environment(tmp_path / "pip")
    install("uv", fetched.lock, by_uv, own)
    install("pip", fetched.lock, by_pip, own)
    assert files(by_uv) == files(by_pip)
    assert len(files(by_uv)) > 30


@pytest.mark.install
@pytest.mark.parametrize("name", [name for path in LOCKS if (name := path.suffixes[0][1:]) != "phase1c"])
def test_nothing_newer_is_out(name: str) -> None:
    """As the README promises of a release; the old pins of one run stay as they are."""
    done = subprocess.run(
        [sys.executable, "-m", "envdoctor", "lock", name, "--check"], capture_output=True, text=True, timeout=600,
        env={**os.environ, "PIP_CONFIG_FILE": os.devnull},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
