"""Wheels beside their lock: fetched from a folder or a server, held to size and sha256, installed by pip and by uv."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from envdoctor.change.installers import find_uv
from envdoctor.errors import Trouble
from envdoctor.locks import stack
from envdoctor.locks.platforms import interpreter
from envdoctor.locks.stack import Stack
from envdoctor.locks.writing import listing
from envdoctor.locks.writing.fetch import fetch
from envdoctor.locks.writing.inputs import Inputs
from envdoctor.locks.writing.lock import write_stack
from envdoctor.sources import sources
from envdoctor.sources.sources import Sources
from envdoctor.system.process import run
from envdoctor.values.document import read_toml
from tests.locks.writing.conftest import (
    HERE,
    PYTHON,
    build_wheel,
    index_of,
    lock,
    names,
    package,
    sha256,
    sources_of,
    wheel,
    write_lock,
)


def test_beside_the_lock_itself(locked: Stack, shelved: Sources, shelf: Path) -> None:
    told: list[str] = []
    fetched = fetch(locked, HERE, locked.path.parent, sources=shelved, progress=told.append)
    assert (fetched.lock, fetched.files, fetched.downloaded) == (locked.path, 3, 3)
    assert fetched.size == sum(path.stat().st_size for path in shelf.iterdir())
    counted = [line.partition(": ") for line in told if ": " in line]
    assert {count for count, _, _ in counted} == {"1 of 3", "2 of 3", "3 of 3"}
    assert names(locked.path.parent / "wheels") == sorted(name for _, _, name in counted) == names(shelf)
    for path in shelf.iterdir():
        assert sha256(locked.path.parent / "wheels" / path.name) == sha256(path)


def test_into_another_folder_with_the_lock(locked: Stack, shelved: Sources, tmp_path: Path) -> None:
    fetched = fetch(locked, HERE, tmp_path / "stick", sources=shelved)
    assert fetched.lock == tmp_path / "stick" / "pylock.small.toml"
    assert fetched.lock.read_bytes() == locked.path.read_bytes()
    assert len(names(tmp_path / "stick" / "wheels")) == 3


def test_what_is_there_is_hashed_not_fetched(
    locked: Stack, shelved: Sources, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = locked.path.parent
    fetch(locked, HERE, folder, sources=shelved)
    (folder / "wheels" / "alpha-1.0-py3-none-any.whl").write_bytes(b"rotten")
    assert fetch(locked, HERE, folder, sources=shelved).downloaded == 1
    monkeypatch.setattr("envdoctor.locks.writing.listing.addresses", lambda *given: pytest.fail("nothing was missing"))
    shutil.rmtree(shelf)
    assert fetch(locked, HERE, folder, sources=shelved).downloaded == 0


def test_another_file_of_the_same_version_is_not_taken(locked: Stack, shelved: Sources, shelf: Path) -> None:
    build_wheel(shelf, "alpha", "1.0", requires=("beta>=1",), content="evil = True\n")
    with pytest.raises(Trouble, match=r"have alpha 1\.0, but not the file that is locked"):
        fetch(locked, HERE, locked.path.parent, sources=shelved)
    assert "alpha-1.0-py3-none-any.whl" not in names(locked.path.parent / "wheels")


def test_a_file_that_another_index_hides_is_found(tmp_path: Path, home: Path) -> None:
    """uv takes a version from the first index that has it, and this one is a mirror of other wheels."""
    full, partial = tmp_path / "full", tmp_path / "partial"
    build_wheel(full, "alpha", "1.0", tag=f"py{PYTHON.replace('.', '')}-none-any")
    build_wheel(full, "beta", "1.0")
    build_wheel(partial, "alpha", "1.0")
    no_shelf = {"UV_NO_INDEX": "", "UV_FIND_LINKS": "", "UV_DEFAULT_INDEX": index_of(full)}
    one = sources_of(full, home, **no_shelf)
    both = sources_of(full, home, **no_shelf, UV_INDEX=index_of(partial))
    inputs = Inputs(requirements=("alpha", "beta"), pythons=(PYTHON,), machines=("x86_64",))
    found = write_stack("small", inputs, folder=tmp_path / "locks", sources=one).stack
    assert fetch(found, HERE, tmp_path / "stick", sources=both).downloaded == 2
    assert names(tmp_path / "stick" / "wheels") == sorted(path.name for path in full.glob("*.whl"))


@pytest.mark.parametrize(
    ("served", "words"),
    [
        (
            lambda sound: sound[:-1] + b"x",
            r"alpha-1\.0-py3-none-any\.whl: what came has sha256 [0-9a-f]{64}, the lock says",
        ),
        (lambda sound: sound + b"x", r"is longer than the \d+ bytes locked"),
        (lambda sound: sound[:-1], r"\d+ of \d+ bytes came"),
    ],
    ids=["wrong sha256", "too long", "too short"],
)
def test_a_file_that_changes_on_the_way_is_refused(
    locked: Stack, shelved: Sources, shelf: Path, monkeypatch: pytest.MonkeyPatch, served: object, words: str
) -> None:
    """The index states the right hash and serves something else."""
    answer = listing.addresses

    def addresses(*given: object) -> dict[str, str]:
        found = answer(*given)  # type: ignore[arg-type]
        path = shelf / "alpha-1.0-py3-none-any.whl"
        path.write_bytes(served(path.read_bytes()))  # type: ignore[operator]
        return found

    monkeypatch.setattr("envdoctor.locks.writing.listing.addresses", addresses)
    with pytest.raises(Trouble, match=words):
        fetch(locked, HERE, locked.path.parent, sources=shelved)
    left = names(locked.path.parent / "wheels")
    assert "alpha-1.0-py3-none-any.whl" not in left
    assert not [name for name in left if name.endswith(".part")]


def test_a_lock_that_is_not_closed_is_refused(shelf: Path, shelved: Sources, tmp_path: Path) -> None:
    """No `dependencies` in the lock gives it away: the wheel's own METADATA does."""
    file = build_wheel(shelf, "alpha", "1.0", requires=("beta",))
    entry = wheel("alpha", size=file.stat().st_size, hashes={"sha256": sha256(file)})
    found = stack.load(write_lock(tmp_path, lock(package("alpha", wheels=[entry]))))
    with pytest.raises(Trouble, match="the lock is not closed: alpha needs beta"):
        fetch(found, HERE, tmp_path, sources=shelved)


def test_a_python_that_is_not_served(locked: Stack, shelved: Sources, tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="stack small is not for this Python"):
        fetch(locked, interpreter("3.14" if PYTHON != "3.14" else "3.10", "x86_64"), tmp_path, sources=shelved)


def test_a_folder_that_is_a_file(locked: Stack, shelved: Sources, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Trouble, match="wheels: Not a directory"):
        fetch(locked, HERE, tmp_path / "file", sources=shelved)


def test_wheels_that_point_elsewhere_are_refused(locked: Stack, shelved: Sources, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (locked.path.parent / "wheels").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Trouble, match="is a link"):
        fetch(locked, HERE, locked.path.parent, sources=shelved)
    assert names(tmp_path / "elsewhere") == []


def test_too_little_room_is_said_before_anything_comes(
    locked: Stack, shelved: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(total=10, used=10, free=0))
    with pytest.raises(Trouble, match="not enough room"):
        fetch(locked, HERE, locked.path.parent, sources=shelved)


def environment(path: Path) -> Path:
    uv = find_uv()
    assert uv is not None
    assert run([uv, "venv", "--quiet", "--python", sys.executable, path], deadline=60).ok
    return path


def install(kind: str, lock: Path, place: Path, sources: Sources) -> None:
    """By pip >= 26.1 or by uv, from the lock alone: no network, no index."""
    python, uv = place / "bin" / "python", find_uv()
    assert uv is not None
    argv: dict[str, list[str | os.PathLike[str]]] = {
        "uv": [uv, "pip", "install", "--python", python, "--offline", "--no-index", "--requirements", lock],
        "pip": [sys.executable, "-I", "-m", "pip", "--python", python, "install", "--no-index", "--requirement", lock],
    }
    variables = sources.uv if kind == "uv" else sources.pip
    outcome = run(argv[kind], deadline=120, env=dict(variables), cwd=place)
    assert outcome.ok, outcome.err


def files(place: Path) -> dict[str, str]:
    """Every file below site-packages by content; what installers note about themselves is left out."""
    (site,) = place.glob("lib/python*/site-packages")
    own = ("_virtualenv.py", "_virtualenv.pth", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "RECORD")
    found = [file for file in site.rglob("*") if file.is_file() and file.name not in own and file.suffix != ".pyc"]
    return {str(file.relative_to(site)): sha256(file) for file in found}


def test_pip_and_uv_install_the_same_files_from_the_lock_alone(
    locked: Stack, shelved: Sources, shelf: Path, tmp_path: Path
) -> None:
    fetched = fetch(locked, HERE, tmp_path / "stick", sources=shelved)
    for file in shelf.iterdir():
        file.unlink()
    by_uv, by_pip = environment(tmp_path / "uv"), environment(tmp_path / "pip")
    install("uv", fetched.lock, by_uv, shelved)
    install("pip", fetched.lock, by_pip, shelved)
    assert files(by_uv) == files(by_pip)
    asked = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    said = run([by_pip / "bin" / "python", "-c", asked], deadline=30).out
    assert json.loads(said) == {"alpha": "1.0", "beta": "1.0+cpu", "gamma": "2.0"}


@pytest.mark.parametrize("kind", ["uv", "pip"])
def test_a_wheel_that_rots_beside_its_lock_is_not_installed(
    locked: Stack, shelved: Sources, tmp_path: Path, kind: str
) -> None:
    fetched = fetch(locked, HERE, tmp_path / "stick", sources=shelved)
    build_wheel(fetched.lock.parent / "wheels", "alpha", "1.0", requires=("beta>=1",), content="evil = True\n")
    place = environment(tmp_path / kind)
    with pytest.raises(AssertionError, match=r"(?i)hash|size"):
        install(kind, fetched.lock, place, shelved)
    assert files(place) == {}


@pytest.mark.install
def test_a_trimmed_bundled_lock_installs_from_the_users_own_sources(tmp_path: Path, home: Path) -> None:
    """Real files of the CPU stack, without torch: fetched from whatever index is configured, then installed by both."""
    wanted = {"tokenizers", "safetensors", "numpy", "pyyaml", "regex"}
    data = read_toml(Path(__file__).resolve().parents[3] / "lockfiles" / "pylock.cpu.toml")
    kept = [package for package in data["packages"] if package["name"] in wanted]
    for entry in kept:
        entry.pop("dependencies", None)
    found = stack.load(write_lock(tmp_path, {**data, "packages": [e for e in kept if e["name"] != "tokenizers"]}))
    own = sources.read(Path(sys.prefix), variables=dict(os.environ), folder=tmp_path)
    fetched = fetch(found, interpreter("3.11", "x86_64", libc="glibc 2.36"), tmp_path / "stick", sources=own)
    assert fetched.files == fetched.downloaded == len(wanted) - 1


def test_sources_of_tests_know_nothing_else(shelf: Path, home: Path) -> None:
    assert sources_of(shelf, home).index is None
