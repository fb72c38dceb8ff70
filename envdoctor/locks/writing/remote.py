"""Reading what an index has not said about a wheel: its size, and the METADATA inside it, without downloading it."""

from __future__ import annotations

import base64
import http.client
import io
import netrc
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from envdoctor.errors import Trouble
from envdoctor.locks.redirects import Redirects
from envdoctor.sources.sources import Sources

SECONDS = 30.0  # for one request
CONNECT_SECONDS = 10.0  # for an index to begin with its answer
SLOW_SECONDS, SLOWEST = 60.0, 4096  # after so long a download has come at so many bytes a second, or is given up
ATTEMPTS = 3
AT_ONCE = 8  # requests in flight; indexes answer HEAD in 10-100 ms, so 300 wheels take a few seconds
METADATA_LIMIT = 2 * 1024 * 1024  # bytes; the longest METADATA seen (a long README) is about 200 kB
BLOCK = 1024 * 1024
T = TypeVar("T")


class Remote:
    """Reads wheels behind ``https:``, ``http:`` and ``file:`` addresses, with the user's proxies and certificates.

    Passwords that the user's own indexes carry, or else ``.netrc``, are used for files on the same hosts.
    """

    def __init__(self, sources: Sources) -> None:
        self._credentials: dict[str, str] = {}
        self._netrc = sources.uv.get("NETRC")
        for index in (sources.index or "", *sources.extra, *sources.find_links):
            parts = urllib.parse.urlsplit(index)
            if parts.username and parts.hostname:
                pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
                self._credentials[parts.hostname] = pair
        context = ssl.create_default_context(cafile=sources.uv.get("SSL_CERT_FILE"))
        proxies = {scheme: sources.uv.get(f"{scheme.upper()}_PROXY") for scheme in ("http", "https")}
        given = {scheme: proxy for scheme, proxy in proxies.items() if proxy}
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context), urllib.request.ProxyHandler(given or None), Redirects()
        )

    def size(self, address: str) -> int:
        """Bytes of the file. Raises `Trouble` when the server does not say."""
        if (path := local(address)) is not None:
            return _of_disk(path, lambda: path.stat().st_size)
        try:
            headers, _ = self._request(address, method="HEAD")
        except FileNotFoundError as error:
            raise _no_answer(address, "it is not there (any more)") from error
        length = headers.get("content-length", "")
        if not length.isdigit():
            raise Trouble(f"the server does not say how large {name_of(address)} is", exit_code=3)
        return int(length)

    def metadata(self, address: str) -> str:
        """The wheel's METADATA: from the file beside it (PEP 658), else from inside it, by range requests."""
        if (path := local(address)) is not None:
            return _of_disk(path, lambda: _metadata_in(zipfile.ZipFile(path)))
        try:
            return self._request(f"{address}.metadata", limit=METADATA_LIMIT)[1].decode("utf-8", "replace")
        except FileNotFoundError:
            ranges = _Ranges(self.size(address), lambda first, last: self._range(address, first, last))
            wheel = io.BufferedReader(ranges)  # zipfile asks for n bytes and wants all n
            return _of_disk(Path(name_of(address)), lambda: _metadata_in(zipfile.ZipFile(wheel)))

    def page(self, address: str, *, accept: str, limit: int, seconds: float) -> tuple[str, str, bytes]:
        """Content type, address after redirects, and content of a page. FileNotFoundError: there is none for us.

        Raises `Trouble` when it is longer than ``limit`` bytes, or not there after ``seconds``: all of it, headers too.
        """
        if (path := local(address)) is not None:
            path = path / "index.html" if path.is_dir() else path
            return "text/html", address, _of_disk(path, path.read_bytes) if path.is_file() else b""
        answers: list[tuple[str, str, bytes] | BaseException] = []

        def ask() -> None:
            try:
                answers.append(self._page(address, accept, limit, seconds))
            except BaseException as error:  # noqa: BLE001 - raised below, where it is waited for
                answers.append(error)

        # No time limit of a connection counts what comes a byte at a time, in headers least of all.
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(seconds + 1)
        if not answers:
            raise _no_answer(address, f"its page did not come within {seconds:.0f} s")
        if isinstance(answers[0], BaseException):
            raise answers[0]
        return answers[0]

    def _page(self, address: str, accept: str, limit: int, seconds: float) -> tuple[str, str, bytes]:
        over = time.monotonic() + seconds
        content = bytearray()
        request = self._asked(address, headers={"Accept": accept, "Accept-Encoding": "identity"})
        try:
            with self._opener.open(request, timeout=min(seconds, CONNECT_SECONDS)) as answer:
                while block := answer.read1(BLOCK):
                    content += block
                    if len(content) > limit:
                        raise _no_answer(address, f"its page is longer than {limit // 2**20} MB")
                    if time.monotonic() > over:
                        raise _no_answer(address, f"its page did not come within {seconds:.0f} s")
                return str(answer.headers.get("Content-Type", "")), str(answer.url), bytes(content)
        except urllib.error.HTTPError as error:
            if error.code in (401, 403, 404, 410):
                raise FileNotFoundError(address) from error
            raise _no_answer(address, f"HTTP {error.code}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _no_answer(address, str(getattr(error, "reason", error))) from error

    def content(self, address: str, *, limit: int | None) -> Iterator[bytes]:
        """The file, block by block. Raises `Trouble` as soon as it is longer than ``limit`` bytes, or ends before."""
        path = local(address)
        request: Any = path.as_uri() if path is not None else self._asked(address)
        received, started = 0, time.monotonic()
        try:
            with self._opener.open(request, timeout=SECONDS) as answer:
                # A file has no read1 that urllib would pass on; a connection gives what is there, not what was asked.
                some = getattr(answer, "read1", answer.read)
                while block := some(BLOCK):
                    received += len(block)
                    passed = time.monotonic() - started
                    if passed > SLOW_SECONDS and received < SLOWEST * passed:
                        raise _no_answer(address, f"it comes at {received / passed:.0f} bytes a second")
                    if limit is not None and received > limit:
                        raise Trouble(f"{name_of(address)} is longer than the {limit} bytes locked", exit_code=3)
                    yield block
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _no_answer(address, str(getattr(error, "reason", error))) from error
        if limit is not None and received < limit:
            raise _no_answer(address, f"{received} of {limit} bytes came")

    def _range(self, address: str, first: int, last: int) -> bytes:
        wanted = last - first + 1
        headers, body = self._request(address, headers={"Range": f"bytes={first}-{last}"}, limit=wanted)
        if len(body) != wanted or "content-range" not in headers:  # a server may answer with the whole file instead
            raise Trouble(f"the server does not serve parts of {name_of(address)}", exit_code=3)
        return body

    def _request(
        self, address: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, limit: int = 0
    ) -> tuple[Mapping[str, str], bytes]:
        request = self._asked(address, method, headers)
        problem = ""
        for attempt in range(ATTEMPTS):
            try:
                with self._opener.open(request, timeout=SECONDS) as answer:
                    return {k.lower(): v for k, v in answer.headers.items()}, answer.read(limit) if limit else b""
            except urllib.error.HTTPError as error:
                if error.code in (403, 404, 410):
                    raise FileNotFoundError(name_of(address)) from error
                problem = f"HTTP {error.code}"
            except (OSError, http.client.HTTPException, ValueError) as error:  # timeouts, resets, bad certificates
                problem = str(getattr(error, "reason", error))
            time.sleep(0.5 * 2**attempt)
        raise _no_answer(address, problem)

    def _asked(
        self, address: str, method: str = "GET", headers: Mapping[str, str] | None = None
    ) -> urllib.request.Request:
        host = urllib.parse.urlsplit(address).hostname or ""
        request = urllib.request.Request(address, method=method, headers=dict(headers or {}))
        for name, value in self._authority(host).items():
            request.add_unredirected_header(name, value)  # a redirect to another host must not carry it along
        return request

    def _authority(self, host: str) -> dict[str, str]:
        pair = self._credentials.get(host)
        if pair is None:
            try:
                found = netrc.netrc(self._netrc).authenticators(host)
            except (OSError, netrc.NetrcParseError):
                found = None
            pair = f"{found[0]}:{found[2]}" if found else None
        return {} if pair is None else {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def each(work: Callable[[str], T], addresses: Iterable[str]) -> dict[str, T]:
    """The answer for every address, several at once; the first `Trouble` ends it."""
    addresses = list(dict.fromkeys(addresses))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(addresses, pool.map(work, addresses), strict=True))


def local(address: str) -> Path | None:
    """The path behind a ``file:`` address; None for anything on a network."""
    parts = urllib.parse.urlsplit(address)
    return Path(urllib.request.url2pathname(parts.path)) if parts.scheme == "file" else None


def name_of(address: str) -> str:
    """The file name an address ends in, unquoted: ``torch-2.13.0+cpu-...whl``."""
    return urllib.parse.unquote(urllib.parse.urlsplit(address).path.rpartition("/")[2])


def _no_answer(address: str, problem: str) -> Trouble:
    host = urllib.parse.urlsplit(address).hostname or "this machine"
    return Trouble(
        f"no answer about {name_of(address)} from {host}: {problem}",
        remedy="Check the index, the proxy and the certificates of your pip or uv configuration.",
        exit_code=3,
    )


def _of_disk(path: Path, read: Callable[[], T]) -> T:
    try:
        return read()
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise Trouble(f"not readable as a wheel: {error}", file=path, exit_code=3) from error


def _metadata_in(wheel: zipfile.ZipFile) -> str:
    with wheel:
        # A wheel may vendor others' .dist-info folders; its own lies at the top.
        names = [n for n in wheel.namelist() if n.count("/") == 1 and n.endswith(".dist-info/METADATA")]
        if len(names) != 1:
            raise KeyError("no METADATA, or several")
        with wheel.open(names[0]) as stream:
            return stream.read(METADATA_LIMIT).decode("utf-8", "replace")


class _Ranges(io.RawIOBase):
    """A remote file as a seekable stream, read in blocks, enough for a zip's directory and one member."""

    BLOCK = 64 * 1024

    def __init__(self, size: int, read: Callable[[int, int], bytes]) -> None:
        self._size, self._read, self._place = size, read, 0
        self._blocks: dict[int, bytes] = {}

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        start = self._place // self.BLOCK * self.BLOCK
        if self._place >= self._size:
            return 0
        if start not in self._blocks:
            self._blocks[start] = self._read(start, min(start + self.BLOCK, self._size) - 1)
        part = self._blocks[start][self._place - start :][: len(buffer)]
        buffer[: len(part)] = part
        self._place += len(part)
        return len(part)
