"""A team's own targets behind an address: taken once, checked against a hash that the user gives, and kept.

``https://HOST/locks/targets/team.toml#sha256=HEX``, or out of a git repository,
``git+https://HOST/REPOSITORY.git@v3#path=locks/targets/team.toml&sha256=HEX``. The hash is over the target and its
locks (`envdoctor.locks.fingerprint`): whoever owns the server or the branch can withhold them, not exchange them.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import weakref
from collections.abc import Callable
from pathlib import Path

from envdoctor.bundle import lockfiles
from envdoctor.errors import Trouble
from envdoctor.locks.fingerprint import fingerprint
from envdoctor.locks.redirects import Redirects
from envdoctor.locks.target import load
from envdoctor.system import process, temporary
from envdoctor.values.document import SIZE_LIMIT, make_folder

SECONDS = 30.0  # for all files of a target together
GIT_SECONDS = 120.0  # for the one commit, without its history and without files above the limit
STACKS = 16  # the bundled targets name at most 5
BLOCK = 64 * 1024
LOOPBACK = ("localhost", "127.0.0.1", "::1")

Read = Callable[[str], bytes | None]  # the file at a path beside the target; None: there is none


def fetch_target(address: str, cache: Path | None = None) -> Path:
    """The target's file in our cache, its locks beside it; taken from the address where it is not there yet.

    Raises `Trouble` for an address without its hash, for one that gives other files than the hash is of, and where
    nothing answers.
    """
    place, _, fragment = address.partition("#")
    said = dict(urllib.parse.parse_qsl(fragment))
    wanted = said.get("sha256", "").lower()
    if not re.fullmatch(r"[0-9a-f]{64}", wanted):
        raise Trouble(
            "an address needs the hash of what it leads to",
            where=address,
            remedy="Add #sha256=HEX (git: &sha256=HEX); whoever made the lock gets it by: envdoctor lock NAME --share",
        )
    path = said.get("path", "") if place.startswith("git+") else urllib.parse.urlsplit(place).path
    name = path.rpartition("/")[2]
    if not re.fullmatch(r"[\w-]+\.toml", name) or ".." in path.split("/"):
        what = "#path=FOLDER/NAME.toml" if place.startswith("git+") else "NAME.toml"
        raise Trouble(f"the address does not end in {what}", where=address, remedy="Name the target's file.")
    folder = (cache or _cache()) / wanted
    if (folder / name).is_file():  # put there whole, after its hash was right
        return folder / name
    read = _from_git(place, path) if place.startswith("git+") else _from_web(place)
    _take(read, name, wanted, folder, address)
    return folder / name


def _take(read: Read, name: str, wanted: str, folder: Path, address: str) -> None:
    make_folder(folder.parent)
    with temporary.folder(beside=folder.parent) as held:
        draft = held / "draft"
        draft.mkdir()
        contents = [_there(read(name), name, address)]
        (draft / name).write_bytes(contents[0])
        stacks = load(draft / name).stacks
        if len(stacks) > STACKS:
            raise Trouble(f"it names {len(stacks)} stacks", where=address, remedy=f"At most {STACKS}.", exit_code=3)
        for stack in stacks:
            lock = f"pylock.{stack}.toml"
            content = read(lock)
            content = read(f"../{lock}") if content is None else content
            if content is None and (lockfiles() / lock).is_file():
                continue  # one of ours, which every envdoctor brings
            content = _there(content, lock, address)
            contents.append(content)
            (draft / lock).write_bytes(content)
        found = fingerprint(contents)
        if found != wanted:
            raise Trouble(
                f"these are other files than expected: their sha256 is {found}, not {wanted}",
                where=address,
                remedy="Ask whoever made the lock for its present address (envdoctor lock NAME --share).",
                exit_code=3,
            )
        with contextlib.suppress(OSError):  # somebody else was quicker, with the same bytes
            draft.rename(folder)


def _there(content: bytes | None, name: str, address: str) -> bytes:
    if content is None:
        raise Trouble(f"{name} is not there", where=address, remedy="Check the address.", exit_code=3)
    return content


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "envdoctor" / "targets"


# --- over https ---


def _from_web(place: str) -> Read:
    parts = urllib.parse.urlsplit(place)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise Trouble(
            f"{parts.scheme}:// is not an address for a target", where=place, remedy="Use https:// or git+https://."
        )
    end = time.monotonic() + SECONDS
    opener = urllib.request.build_opener(Redirects())

    def read(name: str) -> bytes | None:
        url = urllib.parse.urljoin(place, name)
        try:
            with opener.open(url, timeout=max(end - time.monotonic(), 0.1)) as answer:
                blocks, size = [], 0
                while block := answer.read1(BLOCK):
                    size += len(block)
                    if size > SIZE_LIMIT:
                        raise Trouble(f"larger than {SIZE_LIMIT // 2**20} MiB", where=url, exit_code=3)
                    if time.monotonic() > end:
                        raise TimeoutError(f"not complete after {SECONDS:.0f} s")
                    blocks.append(block)
                return b"".join(blocks)
        except urllib.error.HTTPError as error:
            if error.code in (403, 404, 410):
                return None
            raise _no_answer(url, f"HTTP {error.code}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _no_answer(url, str(getattr(error, "reason", error))) from error

    return read


def _no_answer(url: str, problem: str) -> Trouble:
    remedy = "Check the address, the network and HTTPS_PROXY."
    return Trouble(f"no answer: {problem}", where=url, remedy=remedy, exit_code=3)


# --- out of a git repository ---


def _from_git(place: str, path: str) -> Read:
    """One commit, without history; git itself brings it, with the user's own credentials and proxies."""
    url, reference = place.removeprefix("git+"), "HEAD"
    head, at, last = url.rpartition("@")
    if at and "/" not in last:
        url, reference = head, last
    if urllib.parse.urlsplit(url).scheme not in ("https", "ssh", "file") or reference.startswith("-"):
        raise Trouble("not an address of a git repository", where=place, remedy="Use git+https://HOST/REPO.git@TAG")
    folder, end = temporary.new_folder(), time.monotonic() + GIT_SECONDS

    def git(*words: str) -> process.Outcome:
        quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "https:ssh:file", "LC_ALL": "C"}
        env = {name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}
        deadline = max(end - time.monotonic(), 1.0)
        return process.run(["git", "-C", str(folder), *words], deadline=deadline, env={**env, **quiet})

    limit = f"--filter=blob:limit={SIZE_LIMIT}"
    for words in (("init", "--quiet"), ("fetch", "--quiet", "--depth=1", limit, url, reference)):
        outcome = git(*words)
        if not outcome.ok:
            told = (outcome.err.strip().splitlines() or [outcome.ending])[-1]
            temporary.remove(folder)
            raise Trouble(f"git {words[0]}: {told}", where=place, remedy="Check the address and the tag.", exit_code=3)

    def read(name: str) -> bytes | None:
        parts = os.path.normpath(f"{os.path.dirname(path) or '.'}/{name}").lstrip("/")
        size = git("cat-file", "-s", f"FETCH_HEAD:{parts}")
        if not size.ok:
            return None
        if int(size.out) > SIZE_LIMIT:
            raise Trouble(f"{parts} is larger than {SIZE_LIMIT // 2**20} MiB", where=place, exit_code=3)
        shown = git("cat-file", "blob", f"FETCH_HEAD:{parts}")
        return shown.out.encode() if shown.ok else None

    weakref.finalize(read, temporary.remove, folder)
    return read
