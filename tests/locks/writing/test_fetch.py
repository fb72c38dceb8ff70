"""Wheels beside their lock: fetched from a folder or a server, held to size and sha256, installed by pip and by uv."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from envdoctor.change.installers import find_uv
from envdoctor.errors import Trouble
from envdoctor.locks import stack
from envdoctor.locks.platforms import interpreter
from envdoctor.locks.stack import Stack
from envdoctor.locks.writing import listing, resolver
from envdoctor.locks.writing.fetch import fetch
from envdoctor.locks.writing.inputs import Inputs
from envdoctor.locks.writing.lock import write_stack
from envdoctor.process import run
from envdoctor.sources import sources
from envdoctor.sources.sources import Sources
from envdoctor.values.document import read_toml
from tests.locks.writing.conftest import build_wheel, index_of, lock, package, sha256, sources_of, wheel, write_lock

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


class Index:
    """An index on this machine, whose answers may not end; ``asked`` are the paths of its requests."""

    def __init__(self, behave: Callable[[BaseHTTPRequestHandler], None]) -> None:
        self.asked: list[str] = []
        index = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                index.asked.append(self.path)
                with contextlib.suppress(OSError):  # whoever asked has had enough
                    behave(self)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/simple"

    def __enter__(self) -> Index:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def sources(self, home: Path) -> Sources:
        return sources_of(home, home, UV_NO_INDEX="", UV_FIND_LINKS="", UV_DEFAULT_INDEX=self.address)


def served(shelf: Path, kind: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def behave(request: BaseHTTPRequestHandler) -> None:
        name = request.path.rstrip("/").rpartition("/")[2]
        if request.path.startswith("/files/"):
            body, content = (shelf / name).read_bytes(), "application/octet-stream"
        else:
            wheels = sorted(shelf.glob(f"{name}-*.whl"))
            if kind == "json":
                files = [
                    {"filename": w.name, "url": f"/files/{w.name}", "hashes": {"sha256": sha256(w)}} for w in wheels
                ]
                body = json.dumps({"meta": {"api-version": "1.0"}, "name": name, "files": files}).encode()
                content = "application/vnd.pypi.simple.v1+json"
            else:
                links = (f'<a href="../../files/{w.name}#sha256={sha256(w)}">{w.name}</a>' for w in wheels)
                body, content = "\n".join(links).encode(), "text/html"
        request.send_response(200)
        request.send_header("Content-Type", content)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return behave


@pytest.mark.parametrize("kind", ["json", "html"])
def test_an_index_is_asked_by_name_and_no_wheel_is_looked_into(
    locked: Stack, shelf: Path, home: Path, tmp_path: Path, kind: str
) -> None:
    with Index(served(shelf, kind)) as index:
        fetched = fetch(locked, HERE, tmp_path / "stick", sources=index.sources(home))
    assert fetched.downloaded == 3
    wheels = [f"/files/{path.name}" for path in shelf.iterdir()]
    assert sorted(index.asked) == sorted(["/simple/alpha/", "/simple/beta/", "/simple/gamma/", *wheels])


def endless(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "text/html")
    request.end_headers()
    while True:
        request.wfile.write(b"<a href='x'>" * 10_000)


def trickling(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "text/html")
    request.end_headers()
    while True:
        request.wfile.write(b" ")
        time.sleep(0.1)


def trickling_headers(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.0 200 OK\r\nX-A: ")
    while True:
        request.wfile.write(b"a")
        time.sleep(0.1)


def no_page(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
    request.end_headers()
    request.wfile.write(b"[" * 100_000)


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        (endless, "page is longer than 64 MB"),
        (trickling, "did not come within 2 s"),
        (trickling_headers, "did not come within 2 s"),
        (no_page, "cannot be read"),
    ],
)
def test_an_index_without_end_is_given_up(
    locked: Stack,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    behave: Callable[[BaseHTTPRequestHandler], None],
    words: str,
) -> None:
    monkeypatch.setattr(listing, "PAGE_SECONDS", 2.0)
    with Index(behave) as index, pytest.raises(Trouble, match=words) as caught:
        fetch(locked, HERE, tmp_path / "stick", sources=index.sources(home))
    assert caught.value.exit_code == 3
    assert names(tmp_path / "stick" / "wheels") == []


def test_a_wheel_that_trickles_is_given_up(
    locked: Stack, shelf: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from envdoctor.locks.writing import remote

    monkeypatch.setattr(remote, "SLOW_SECONDS", 1.0)
    page = served(shelf, "html")

    def behave(request: BaseHTTPRequestHandler) -> None:
        (trickling if request.path.startswith("/files/") else page)(request)

    with Index(behave) as index, pytest.raises(Trouble, match="bytes a second"):
        fetch(locked, HERE, tmp_path / "stick", sources=index.sources(home))
    assert names(tmp_path / "stick" / "wheels") == []


def test_without_a_network_it_says_so(locked: Stack, home: Path, tmp_path: Path) -> None:
    """Nobody listens on the port."""
    nowhere = sources_of(home, home, UV_NO_INDEX="", UV_FIND_LINKS="", UV_DEFAULT_INDEX="http://127.0.0.1:9/simple")
    with pytest.raises(Trouble, match="Connection refused"):
        fetch(locked, HERE, tmp_path / "stick", sources=nowhere)


def test_a_uv_that_dies_is_told_from_requirements_that_cannot_be_met(
    shelf: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endless page is read on by uv until its memory ends; a killed and a hanging one said nothing either."""
    inputs = Inputs(requirements=("alpha==1.0",), pythons=(PYTHON,), machines=("x86_64",), exact=True)
    monkeypatch.setattr(resolver, "MEMORY", 1 << 30)
    with Index(endless) as index, pytest.raises(Trouble, match="so nothing was resolved"):
        resolver.resolve(inputs, index.sources(home), seconds=60)
    with Index(trickling) as index, pytest.raises(Trouble, match=r"ended without an answer \(no answer within"):
        resolver.resolve(inputs, index.sources(home), seconds=3)
    with pytest.raises(Trouble, match="found no set of wheels"):
        resolver.resolve(inputs, sources_of(shelf, home))
