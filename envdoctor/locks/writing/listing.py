"""Where the user's sources have a file of known name: asked of the index's own page, without any resolution.

The pins of a lock are known, so an index has nothing to decide: its page of a project (PEP 503 and PEP 691) is read,
within a limit of size and time, and the file's address taken from it. What comes from there is hashed by whoever
fetches it; a page can mislead nobody into another file.
"""

from __future__ import annotations

import hashlib
import html.parser
import json
import os
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from packaging.utils import canonicalize_name

from envdoctor.errors import Trouble
from envdoctor.locks.stack import Locked
from envdoctor.locks.writing.remote import Remote, each, local
from envdoctor.sources.sources import Sources

PAGE_BYTES = 64 * 2**20  # the longest page seen, of a project with nightly builds, has 12 MB
PAGE_SECONDS = 30.0
_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.9, text/html;q=0.5"


def addresses(pins: Sequence[Locked], sources: Sources) -> dict[str, str]:
    """sha256 -> address, of the pins that a configured folder or index has; those of nowhere are left out.

    Raises `Trouble` for a page that is too long, comes too slowly, or is no page, and where no index answers at all.
    """
    remote = Remote(sources)
    found: dict[str, str] = {}
    for place in sources.find_links:
        folder = local(place) if place.startswith("file:") else None if "://" in place else Path(place)
        if folder is not None and folder.is_dir():
            for pin in pins:
                if _sha256_of(folder / pin.wheel) == pin.sha256:
                    found.setdefault(pin.sha256, (folder / pin.wheel).absolute().as_uri())
        elif "://" in place:
            _add(found, pins, _files(remote, place))
    if sources.uv.get("UV_NO_INDEX"):
        return found
    for index in (sources.index, *sources.extra):
        left = [pin for pin in pins if pin.sha256 not in found]
        if index is not None and left:
            pages = each(lambda name, index=index: _files(remote, _page(index, name)), {pin.name for pin in left})  # type: ignore[misc]
            for files in pages.values():
                _add(found, left, files)
    return found


def _add(found: dict[str, str], pins: Iterable[Locked], files: Mapping[str, tuple[str, str]]) -> None:
    """Those of the pins that are among ``files``, name -> (address, sha256 or ""), unless under another hash."""
    for pin in pins:
        address, stated = files.get(pin.wheel, ("", ""))
        if address and stated in ("", pin.sha256):
            found.setdefault(pin.sha256, address)


def _page(index: str, name: str) -> str:
    return f"{index.rstrip('/')}/{canonicalize_name(name)}/"


def _files(remote: Remote, address: str) -> dict[str, tuple[str, str]]:
    """File name -> (address, stated sha256 or ""); nothing where there is no such page."""
    try:
        kind, base, content = remote.page(address, accept=_ACCEPT, limit=PAGE_BYTES, seconds=PAGE_SECONDS)
    except FileNotFoundError:
        return {}
    if "json" in kind:
        return _of_json(content, base)
    reader = _Links()
    reader.feed(content.decode("utf-8", "replace"))
    links = [urllib.parse.urljoin(reader.base or base, link) for link in reader.links]
    return {_name(link): (link.partition("#")[0], _sha256(link)) for link in links if _may_name(base, link)}


def _of_json(content: bytes, base: str) -> dict[str, tuple[str, str]]:
    try:
        entries = [
            (str(file["filename"]), file["url"], file.get("hashes", {})) for file in json.loads(content)["files"]
        ]
        files = {name: (urllib.parse.urljoin(base, url), str(own.get("sha256", ""))) for name, url, own in entries}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        host = urllib.parse.urlsplit(base).hostname
        problem = f"the page of {host} cannot be read: {error}"
        raise Trouble(problem, remedy="Ask whoever runs it.", exit_code=3) from error
    return {name: (url, digest) for name, (url, digest) in files.items() if _may_name(base, url)}


def _may_name(base: str, link: str) -> bool:
    """A page from a network names files on networks only."""
    return base.startswith("file:") or link.startswith(("https:", "http:"))


class _Links(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.base = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag == "a" and href:
            self.links.append(href)
        elif tag == "base" and href and not self.base:
            self.base = href


def _sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()


def _name(link: str) -> str:
    return urllib.parse.unquote(os.path.basename(urllib.parse.urlsplit(link).path))


def _sha256(link: str) -> str:
    kind, _, digest = urllib.parse.urlsplit(link).fragment.partition("=")
    return digest.lower() if kind == "sha256" else ""
