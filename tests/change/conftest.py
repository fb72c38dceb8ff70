"""Real virtual environments, installed from a folder of wheels made on the spot."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import tomli_w

from envdoctor.change.installers import find_uv
from envdoctor.change.values import Change
from envdoctor.locks.stack import Locked
from tests.change.wheels import make_wheel


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uv-cache")


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> None:
    """No index, no configuration of the machine's user: only the folder of wheels."""
    for name in list(os.environ):
        if name.startswith(("PIP_", "UV_", "PYTHON")) or name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_CACHE_DIR", str(cache))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.chdir(tmp_path)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """An environment with alpha, beta and gamma 1.0, and the pins of alpha and beta 2.0."""

    environment: Path
    wheels: Path
    old: tuple[Locked, ...]
    new: tuple[Locked, ...]

    def change(self, **options: object) -> Change:
        settings: dict[str, object] = {
            "environment": self.environment,
            "wanted": self.new,
            "install": self.new,
            "wheels": self.wheels,
        }
        return Change(**(settings | options))  # type: ignore[arg-type]

    def version(self, module: str, environment: Path | None = None) -> str:
        python = (environment or self.environment) / "bin" / "python"
        return run(python, "-c", f"import {module}; print({module}.version)")


def run(*argv: str | Path, **environment: str) -> str:
    """Run to the end, answer its output; a failure shows what it said."""
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, **environment}, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def make_environment(path: Path) -> None:
    run(find_uv() or "uv", "venv", "--quiet", "--no-config", "--python", sys.executable, path)


def install(environment: Path, wheels: Path, *pins: Locked) -> None:
    run(
        *(find_uv() or "uv", "pip", "install", "--quiet", "--no-config", "--no-deps", "--find-links", wheels),
        *("--python", environment / "bin" / "python"),
        *(f"{pin.name}=={pin.version}" for pin in pins),
    )


def make_world(folder: Path, name: str = ".venv") -> World:
    wheels = folder / "wheels"
    old = (
        make_wheel(wheels, "alpha", "1.0", _package("alpha", "1.0", "gone"), scripts=("alpha-tool",)),
        make_wheel(wheels, "beta", "1.0", _package("beta", "1.0")),
        make_wheel(wheels, "gamma", "1.0"),
    )
    new = (
        make_wheel(wheels, "alpha", "2.0", _package("alpha", "2.0", "fresh"), scripts=("alpha-tool",)),
        make_wheel(wheels, "beta", "2.0", _package("beta", "2.0")),
    )
    environment = folder / name
    make_environment(environment)
    install(environment, wheels, *old)
    return World(environment=environment, wheels=wheels, old=old, new=new)


def _package(name: str, version: str, *modules: str) -> dict[str, str]:
    files = {f"{name}/__init__.py": f"version = {version!r}\n\ndef main():\n    print(version)\n"}
    return files | {f"{name}/{module}.py": f"text = {name + version!r}\n" for module in modules}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


@pytest.fixture
def healthy() -> Callable[[Path], str | None]:
    return lambda clone: None


def quiet(line: str) -> None:
    del line


def write_target(world: World, folder: Path) -> Path:
    """A target whose lock asks for the new pins, with the world's wheels beside it."""
    (folder / "targets").mkdir(parents=True)
    (folder / "wheels").symlink_to(world.wheels)
    packages = [
        {
            "name": pin.name,
            "version": pin.version,
            "wheels": [{"path": f"wheels/{pin.wheel}", "size": pin.size, "hashes": {"sha256": pin.sha256}}],
        }
        for pin in world.new
    ]
    lock = {"lock-version": "1.0", "created-by": "tests", "packages": packages}
    (folder / "pylock.small.toml").write_text(tomli_w.dumps(lock))
    path = folder / "targets" / "small.toml"
    path.write_text('schema = 1\ntitle = "CPU"\nstacks = ["small"]\n[flags]\n[env]\nOMP_WAIT_POLICY = "passive"\n')
    return path


def fix_words(target: Path, environment: Path) -> list[str]:
    """``fix`` for such a target, judged by what it says and not by the machine of the tests."""
    select = ("--select", "packages", "--select", "variables", "--ignore", "packages/no-pip")
    return ["fix", "--target", str(target), "--env", str(environment), "--yes", *select]


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """Every path with kind, permissions and contents; bytecode and envdoctor's own mark do not count."""
    return dict(_entries(root, root))


def _entries(root: Path, folder: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    for path in sorted(folder.iterdir()):
        name = str(path.relative_to(root))
        if path.name == "__pycache__" or path.name.startswith(".envdoctor"):
            continue
        mode = path.lstat().st_mode
        if path.is_symlink():
            yield name, ("link", os.readlink(path))
        elif path.is_dir():
            yield name, ("folder", mode)
            yield from _entries(root, path)
        else:
            yield name, ("file", mode, hashlib.sha256(path.read_bytes()).hexdigest())


def leftovers(environment: Path) -> list[str]:
    """Siblings that envdoctor has left beside an environment."""
    return sorted(path.name for path in environment.parent.iterdir() if path.name.startswith(".envdoctor-"))
