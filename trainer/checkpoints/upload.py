"""Copies of finished checkpoints at any URL that fsspec knows, made in the background.

At most one upload is under way; of checkpoints that become ready meanwhile, the newest waits and the others are left
out. A failed upload is tried again, then reported: it never stops training. The files being sent are hard links, so
that removing old checkpoints cannot take them away. The metadata file is written last: a copy without it is not whole.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any, Callable

from trainer.data import archive
from trainer.errors import TrainerError, in_one_line

Metadata = dict[str, Any]
Say = Callable[[str], None]
FIRST_PAUSE = 1.0  # seconds before a failed upload is tried again; doubled each time


def check(url: str, compression: str) -> None:
    """TrainerError when this URL or archive format cannot work here; nothing is sent."""
    _filesystem(url)
    archive.check(compression)


def _filesystem(url: str) -> tuple[Any, str]:
    try:
        import fsspec  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise TrainerError(
            "no-fsspec", "upload needs the package fsspec", "Install fsspec, or leave upload out."
        ) from None
    remedy = "Use for example file:///folder, s3://bucket/folder or gs://bucket/folder."
    if "://" not in url:
        raise TrainerError("bad-url", f"upload: {url!r} is not a URL", remedy)
    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except ImportError as error:  # the scheme is known, its driver is another package
        raise TrainerError("bad-url", f"upload: {url}: {error}", "Install the package it names.") from None
    except ValueError as error:
        raise TrainerError("bad-url", f"upload: {url}: {error}", remedy) from None
    return filesystem, str(path).rstrip("/")


class Uploader:
    """`send` returns at once; `close` waits. `done` lists what was uploaded, `failed` and `left_out` what was not."""

    def __init__(self, url: str, compression: str, attempts: int, say: Say, staging: Path) -> None:
        self._filesystem, self._root = _filesystem(url)
        self.url, self._compression, self._attempts, self._say = url.rstrip("/"), compression, attempts, say
        self._staging = staging
        self.done: list[dict[str, Any]] = []
        self.failed: list[dict[str, str]] = []
        self.left_out: list[str] = []
        self._sent: set[str] = set()
        self._turn = threading.Condition()
        self._waiting: tuple[Path, Metadata] | None = None
        self._busy: str | None = None
        self._closed = False
        shutil.rmtree(staging, ignore_errors=True)  # of a run that was killed while sending
        self._thread = threading.Thread(target=self._work, name="upload", daemon=True)
        self._thread.start()

    def send(self, checkpoint: Path, metadata: Metadata) -> None:
        """Upload the finished checkpoint in `checkpoint`, described by `metadata`; once if it is the same again."""
        if checkpoint.name in self._sent:
            return
        self._sent.add(checkpoint.name)
        held = self._staging / checkpoint.name
        try:
            shutil.rmtree(held, ignore_errors=True)
            held.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(checkpoint, held, copy_function=_link)
        except OSError as error:
            self._give_up(checkpoint.name, f"{held}: {error.strerror or error}")
            return
        with self._turn:
            replaced, self._waiting = self._waiting, (held, metadata)
            self._turn.notify_all()
        if replaced is not None and replaced[0] != held:
            shutil.rmtree(replaced[0], ignore_errors=True)
            self.left_out.append(replaced[0].name)
            self._say(f"upload: {replaced[0].name} left out, a newer one was ready before its turn")

    @property
    def busy(self) -> str | None:
        """The checkpoint that is being uploaded."""
        return self._busy

    def close(self, seconds: float) -> bool:
        """Wait, at most `seconds`, until everything is uploaded or given up; False, and said, when it was not."""
        end = time.monotonic() + seconds
        with self._turn:
            self._closed = True
            self._turn.notify_all()
            while self._busy is not None or self._waiting is not None:
                if not self._turn.wait(max(0.0, end - time.monotonic())) and time.monotonic() >= end:
                    break
            names = [name for name in (self._busy, self._waiting and self._waiting[0].name) if name]
        for name in names:
            self._give_up(name, f"not finished {seconds:g} s after the end of the run")
        if not names:
            self._thread.join()
            shutil.rmtree(self._staging, ignore_errors=True)
        return not names

    def report(self) -> dict[str, Any]:
        """For the run's report."""
        return {"url": self.url, "done": self.done, "failed": self.failed, "left_out": self.left_out}

    def _work(self) -> None:
        while True:
            with self._turn:
                while self._waiting is None and not self._closed:
                    self._turn.wait()
                if self._waiting is None:
                    return
                (held, metadata), self._waiting = self._waiting, None
                self._busy = held.name
            try:
                self._try(held, metadata)
            finally:
                shutil.rmtree(held, ignore_errors=True)
                with self._turn:
                    self._busy = None
                    self._turn.notify_all()

    def _try(self, held: Path, metadata: Metadata) -> None:
        for attempt in range(1, self._attempts + 1):
            begun = time.monotonic()
            try:
                size = self._send(held, metadata)
            except Exception as error:  # noqa: BLE001 - a store may raise anything, and training must go on
                what = in_one_line(error)
                if attempt == self._attempts:
                    self._give_up(held.name, f"{what} ({attempt} attempts)")
                    return
                self._say(f"upload: {held.name}, attempt {attempt} failed: {what}")
                time.sleep(FIRST_PAUSE * 2 ** (attempt - 1))
            else:
                seconds = round(time.monotonic() - begun, 3)
                self.done.append({"name": held.name, "bytes": size, "seconds": seconds, "attempts": attempt})
                return

    def _send(self, held: Path, metadata: Metadata) -> int:
        files = archive.pack(held, self._compression)
        target = self._root if self._compression != "none" else f"{self._root}/{held.name}"
        self._filesystem.makedirs(target, exist_ok=True)
        for path in files:
            self._filesystem.put_file(str(path), f"{target}/{path.name}")
        described = {**metadata, "files": archive.describe(files)}
        text = json.dumps(described, indent=1).encode()
        name = "metadata.json" if self._compression == "none" else held.name + ".json"
        self._filesystem.pipe_file(f"{target}/{name}", text)
        return sum(path.stat().st_size for path in files)

    def _give_up(self, name: str, why: str) -> None:
        self.failed.append({"name": name, "error": why})
        self._say(
            f"upload: {name} was not uploaded to {self.url}: {why}; it is still in the run folder if it is recent"
        )


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without hard links
        shutil.copy2(source, target)
