"""Indexes that hide, trickle, never end or are not there: a fetch and a lock end in words."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from envdoctor.errors import Trouble
from envdoctor.locks.stack import Stack
from envdoctor.locks.writing import listing, resolver
from envdoctor.locks.writing.fetch import fetch
from envdoctor.locks.writing.inputs import Inputs
from envdoctor.sources.sources import Sources
from tests.locks.writing.conftest import HERE, PYTHON, names, sha256, sources_of


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
