"""A real server on this machine, which answers as indexes do, and as they should not."""

from __future__ import annotations

import base64
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from envdoctor.errors import Trouble
from envdoctor.locks.redirects import Redirects
from envdoctor.locks.writing.remote import Remote, each, local, name_of
from tests.locks.writing.conftest import build_wheel, sources_of


@dataclass
class Shelf:
    """What the server serves, and how it misbehaves."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)  # status codes to answer with first
    ranges: bool = True
    length: bool = True
    cut: int | None = None
    redirect: str | None = None
    password: str | None = None


@pytest.fixture
def server() -> Iterator[Shelf]:
    shelf = Shelf()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            given = self.headers.get("Authorization")
            shelf.asked.append((self.command, self.path, given))
            wanted = shelf.password and "Basic " + base64.b64encode(shelf.password.encode()).decode()
            content = shelf.files.get(self.path)
            if shelf.failures:
                self.answer(shelf.failures.pop(0), b"")
            elif shelf.redirect and self.path.startswith("/old/"):
                self.send_response(302)
                self.send_header("Location", shelf.redirect + self.path.removeprefix("/old/"))
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif wanted and given != wanted:
                self.answer(401, b"")
            elif content is None:
                self.answer(404, b"")
            elif shelf.ranges and (asked := self.headers.get("Range")):
                first, last = map(int, asked.removeprefix("bytes=").split("-"))
                self.answer(206, content[first : last + 1], f"bytes {first}-{last}/{len(content)}")
            else:
                self.answer(200, content)

        def answer(self, status: int, body: bytes, content_range: str | None = None) -> None:
            self.send_response(status)
            if shelf.length:
                self.send_header("Content-Length", str(len(body)))
            else:
                self.close_connection = True
            if content_range:
                self.send_header("Content-Range", content_range)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body[: shelf.cut])
                if shelf.cut is not None:
                    self.close_connection = True

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    shelf.address = f"http://127.0.0.1:{httpd.server_port}/"
    yield shelf
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture
def reader(shelf: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return Remote(sources_of(shelf, home))


NAME = "alpha-1.0-py3-none-any.whl"


def put_wheel(server: Shelf, shelf: Path, **fields: object) -> bytes:
    content = build_wheel(shelf, "alpha", "1.0", requires=("beta>=1",), **fields).read_bytes()  # type: ignore[arg-type]
    server.files["/" + NAME] = content
    return content


def test_size_is_what_the_server_says(server: Shelf, shelf: Path, reader: Remote) -> None:
    content = put_wheel(server, shelf)
    assert reader.size(server.address + NAME) == len(content)
    assert server.asked == [("HEAD", "/" + NAME, None)]


def test_no_size_is_said(server: Shelf, shelf: Path, reader: Remote) -> None:
    put_wheel(server, shelf)
    server.length = False
    with pytest.raises(Trouble, match="does not say how large alpha"):
        reader.size(server.address + NAME)


def test_metadata_from_the_file_beside(server: Shelf, reader: Remote) -> None:
    server.files[f"/{NAME}.metadata"] = b"Name: alpha\n"
    assert reader.metadata(server.address + NAME) == "Name: alpha\n"
    assert len(server.asked) == 1


def test_metadata_from_inside_by_parts(server: Shelf, shelf: Path, reader: Remote) -> None:
    large = "".join(f"x{n} = {n * 7919 % 10007}\n" for n in range(20_000))  # several blocks
    content = put_wheel(server, shelf, content=large)
    assert len(content) > 3 * 64 * 1024
    assert "Requires-Dist: beta>=1" in reader.metadata(server.address + NAME)


def test_a_server_without_parts_is_named(server: Shelf, shelf: Path, reader: Remote) -> None:
    put_wheel(server, shelf)
    server.ranges = False
    with pytest.raises(Trouble, match="does not serve parts of alpha"):
        reader.metadata(server.address + NAME)


def test_what_is_no_wheel_is_named(server: Shelf, reader: Remote) -> None:
    server.files["/" + NAME] = b"<html>log in first</html>"
    with pytest.raises(Trouble, match="not readable as a wheel"):
        reader.metadata(server.address + NAME)


def test_gone_files_are_named(server: Shelf, reader: Remote) -> None:
    with pytest.raises(Trouble, match=r"alpha-1\.0.*it is not there"):
        reader.size(server.address + NAME)


def test_passing_failures_are_tried_again(server: Shelf, shelf: Path, reader: Remote) -> None:
    content = put_wheel(server, shelf)
    server.failures = [500, 503]
    assert reader.size(server.address + NAME) == len(content)


def test_lasting_failures_are_named(server: Shelf, shelf: Path, reader: Remote) -> None:
    server.failures = [500] * 9
    with pytest.raises(Trouble, match=r"no answer about alpha.* from 127\.0\.0\.1: HTTP 500"):
        reader.size(server.address + NAME)


def test_nobody_listens(reader: Remote, server: Shelf) -> None:
    with pytest.raises(Trouble, match="no answer about alpha"):
        reader.size("http://127.0.0.1:9/" + NAME)


def test_the_password_of_the_index_opens_its_files(server: Shelf, shelf: Path, home: Path) -> None:
    content = put_wheel(server, shelf)
    server.password = "me:s3 cret"
    index = server.address.replace("http://", "http://me:s3%20cret@") + "simple"
    reader = Remote(sources_of(shelf, home, UV_DEFAULT_INDEX=index))
    assert reader.size(server.address + NAME) == len(content)


def test_netrc_opens_them_too(server: Shelf, shelf: Path, home: Path) -> None:
    content = put_wheel(server, shelf)
    server.password = "me:s3cret"
    (home / "netrc").write_text("machine 127.0.0.1 login me password s3cret\n")
    (home / "netrc").chmod(0o600)
    reader = Remote(sources_of(shelf, home, NETRC=str(home / "netrc")))
    assert reader.size(server.address + NAME) == len(content)


def test_the_password_does_not_follow_a_redirect(server: Shelf, shelf: Path, home: Path) -> None:
    put_wheel(server, shelf)
    server.redirect = server.address.replace("127.0.0.1", "localhost")
    index = server.address.replace("http://", "http://me:s3cret@") + "simple"
    Remote(sources_of(shelf, home, UV_DEFAULT_INDEX=index)).size(server.address + "old/" + NAME)
    (first, second) = server.asked
    assert first[2] is not None
    assert second == ("HEAD", "/" + NAME, None)


def test_content_comes_whole(server: Shelf, shelf: Path, reader: Remote) -> None:
    content = put_wheel(server, shelf)
    assert b"".join(reader.content(server.address + NAME, limit=len(content))) == content


def test_content_longer_than_locked_stops(server: Shelf, shelf: Path, reader: Remote) -> None:
    content = put_wheel(server, shelf)
    with pytest.raises(Trouble, match=f"is longer than the {len(content) - 1} bytes locked"):
        list(reader.content(server.address + NAME, limit=len(content) - 1))


@pytest.mark.parametrize("cut", [0, 100])
def test_content_cut_off_is_told(server: Shelf, shelf: Path, reader: Remote, cut: int) -> None:
    content = put_wheel(server, shelf)
    server.cut = cut
    with pytest.raises(Trouble, match="no answer about alpha"):
        list(reader.content(server.address + NAME, limit=len(content)))


def test_files_of_this_machine(shelf: Path, reader: Remote) -> None:
    path = build_wheel(shelf, "alpha", "1.0+cpu")
    address = path.as_uri()
    assert reader.size(address) == path.stat().st_size
    assert "Version: 1.0+cpu" in reader.metadata(address)
    assert b"".join(reader.content(address, limit=None)) == path.read_bytes()
    assert local(address) == path
    assert name_of(address) == path.name


@pytest.mark.parametrize("ask", [Remote.size, Remote.metadata])
def test_missing_files_of_this_machine_are_named(
    shelf: Path, reader: Remote, ask: Callable[[Remote, str], object]
) -> None:
    with pytest.raises(Trouble, match="not readable as a wheel"):
        ask(reader, (shelf / NAME).as_uri())


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://host.invalid/a/torch-2.0%2Bcpu-py3-none-any.whl#sha256=1", "torch-2.0+cpu-py3-none-any.whl"),
        ("https://host.invalid/x.whl?token=secret", "x.whl"),
        ("file:///a/b.whl", "b.whl"),
    ],
)
def test_the_name_in_an_address(address: str, name: str) -> None:
    assert name_of(address) == name


def test_each_asks_every_address_once() -> None:
    asked: list[str] = []

    def length(address: str) -> int:
        asked.append(address)
        return len(address)

    assert each(length, ["a", "bb", "a"]) == {"a": 1, "bb": 2}
    assert sorted(asked) == ["a", "bb"]


def test_https_is_not_left() -> None:
    handler = Redirects()
    request = urllib.request.Request("https://host.invalid/a")
    with pytest.raises(urllib.error.URLError, match="away from https"):
        handler.redirect_request(request, None, 302, "", {}, "http://host.invalid/a")
