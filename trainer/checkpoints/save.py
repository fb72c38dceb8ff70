"""Checkpoints that are whole or absent: safetensors and JSON only, never a pickle.

A checkpoint is written into a temporary folder, every file is flushed to the disk, MANIFEST.json with sizes and
sha256 comes last, and one rename makes it visible. Loading takes the newest folder whose manifest verifies and says
which ones it passed over.
"""

from __future__ import annotations

import json
import re
import shutil
import threading
from pathlib import Path
from typing import Any, Callable

from trainer.checkpoints import parts
from trainer.checkpoints.parts import Part
from trainer.checkpoints.staging import Staging, plain_copies
from trainer.data import whole
from trainer.data.whole import sha256
from trainer.errors import TrainerError, disk_remedy
from trainer.state import Tensors

# Told of a state that is about to be saved; returns what to do with the folder once it is on the disk.
Announce = Callable[[dict[str, Any]], Callable[[Path], None]]
_FOLDER = re.compile(r"step-\d{8}(\+\d+)?$")


def write(
    parent: Path, name: str, tensors: Tensors, state: dict[str, Any], keep: int, part: Part | None = None
) -> Path:
    """Write `parent`/`name` and remove all but the newest `keep`. Safe against a kill at any moment.

    `tensors` may have any shapes; they are on the host. part: of several, whose others are waited for.

    A whole checkpoint of that name with the same state is left as it is: the same position has the same bits.
    """
    from safetensors import SafetensorError  # what a full disk is to safetensors

    parent.mkdir(parents=True, exist_ok=True)
    _sweep(parent, part)
    target = parent / name
    if target.exists():
        if _fault(target) is None and json.loads((target / "state.json").read_text(encoding="utf-8")) == json.loads(
            json.dumps(state)
        ):
            if part is not None:
                part.take(parent, name, None)
            return target
        shutil.rmtree(target)
    try:
        with whole.new_folder(target) as folder:
            if part is None:
                sums = parts.write(folder, tensors)
            else:
                sums = parts.write(folder, {part.stem(stem): group for stem, group in tensors.items()})
                sums.update(part.take(parent, name, folder))
            path = folder / "state.json"
            path.write_text(json.dumps(state), encoding="utf-8")
            sums[path.name] = {"size": path.stat().st_size, "sha256": sha256(path)}
            (folder / "MANIFEST.json").write_text(json.dumps(dict(sorted(sums.items())), indent=1), encoding="utf-8")
    except (OSError, SafetensorError) as error:
        raise TrainerError(
            "checkpoint-not-written",
            f"{target}: {getattr(error, 'strerror', None) or error}",
            disk_remedy(error, "repeat the command: earlier checkpoints are intact"),
        ) from None
    for old in _steps(parent)[keep:]:
        shutil.rmtree(old, ignore_errors=True)
    _sweep(parent, part)
    return target


def newest(parent: Path) -> tuple[Path | None, list[str]]:
    """The newest checkpoint that verifies (None when there is none), and one sentence for each that did not."""
    passed_over: list[str] = []
    for folder in _steps(parent):
        fault = _fault(folder)
        if fault is None:
            return folder, passed_over
        passed_over.append(f"{folder} is damaged ({fault}) and was passed over")
    return None, passed_over


def glance(parent: Path) -> dict[str, Any]:
    """The state of the newest checkpoint, unverified; {} when there is none that can be read."""
    for folder in _steps(parent):
        try:
            state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # `newest` will say what is wrong with it
        if isinstance(state, dict):
            return state
    return {}


def read(folder: Path, rank: int = 0) -> tuple[dict[str, Any], Tensors]:
    """(state, tensors of the shapes they were written with) of a checkpoint that `newest` has verified; of one in parts
    those of process `rank`.
    """
    from safetensors.torch import load_file

    state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    files = parts.mine(sorted(folder.glob("*.safetensors")), rank)
    return state, {stem: load_file(path) for stem, path in files.items()}


def publish(target: Path, fill: Callable[[Path], None]) -> None:
    """Let `fill` write a folder, flush it, then put it at `target` in one rename (the previous one goes afterwards)."""
    from safetensors import SafetensorError

    try:
        with whole.new_folder(target) as folder:
            fill(folder)
    except (OSError, SafetensorError) as error:
        raise TrainerError(
            "model-not-written",
            f"{target}: {getattr(error, 'strerror', None) or error}",
            disk_remedy(error),
        ) from None


def folder_name(step: int, micro: int) -> str:
    """step-NNNNNNNN, with +M when M micro-batches of the next step are already in the gradients; sorts by age."""
    return f"step-{step:08d}" + (f"+{micro}" if micro else "")


class Saver:
    """Writes checkpoints in a thread, at most one at a time, from copies that are made beside the training.

    `blocking`: `save` copies and writes by itself, as plain loops do: no thread, no stream, no page-locked memory.
    """

    def __init__(self, parent: Path, keep: int, blocking: bool = False, announce: Announce | None = None) -> None:
        self.parent, self.keep, self.blocking, self.announce = parent, keep, blocking, announce
        self._staging = None if blocking else Staging()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def save(self, name: str, tensors: Tensors, state: dict[str, Any], part: Part | None = None) -> None:
        """Copy now, write in the background as folder `name`. Raises what went wrong with the previous write.

        `tensors`: of any shapes, on any device. part: of a checkpoint that all processes write.
        """
        self.wait()
        copies = plain_copies(tensors) if self._staging is None else self._staging.copies(tensors)
        then = self.announce(state) if self.announce else None
        given = (name, copies, state, then, part)
        if self.blocking:
            self._write(*given)
            self.wait()
            return
        self._thread = threading.Thread(target=self._write, args=given, name="checkpoint")
        self._thread.start()

    def before_change(self) -> None:
        """The device is about to change what was to be saved: first it is copied."""
        if self._staging is not None:
            self._staging.before_change()

    def _write(
        self, name: str, tensors: Tensors, state: dict[str, Any], then: Callable[[Path], None] | None, part: Part | None
    ) -> None:
        try:
            if self._staging is not None:
                self._staging.wait()
            if part is not None and part.rank:
                self.parent.mkdir(parents=True, exist_ok=True)
                _put(part, self.parent, name, tensors)
                return
            folder = write(self.parent, name, tensors, state, self.keep, part)
            if then is not None:
                then(folder)
        except BaseException as error:  # noqa: BLE001 - handed to the training thread by wait()
            self._error = error

    def wait(self) -> None:
        """Until the last write is on the disk; raises its error."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._error is not None:
            error, self._error = self._error, None
            raise error


def _steps(parent: Path) -> list[Path]:
    """Checkpoint folders, newest first."""
    found = [path for path in parent.glob("step-*") if _FOLDER.match(path.name)] if parent.is_dir() else []
    return sorted(found, key=lambda path: path.name, reverse=True)


def _put(part: Part, parent: Path, name: str, tensors: Tensors) -> None:
    from safetensors import SafetensorError

    try:
        part.put(parent, name, tensors)
    except (OSError, SafetensorError) as error:
        raise TrainerError(
            "checkpoint-not-written",
            f"{parent / name}: {getattr(error, 'strerror', None) or error}",
            disk_remedy(error, "repeat the command: earlier checkpoints are intact"),
        ) from None


def _sweep(parent: Path, part: Part | None = None) -> None:
    """Remove what a run left that was killed while writing; not what others write for this very checkpoint."""
    for path in [*parent.glob("step-*.tmp-*"), *parent.glob("step-*.part-*")]:
        if part is None or f".part-{part.token}-" not in path.name:
            shutil.rmtree(path, ignore_errors=True)


def _fault(folder: Path) -> str | None:
    try:
        manifest = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))
        for name, entry in manifest.items():
            path = folder / name
            if path.stat().st_size != entry["size"]:
                return f"{name} has {path.stat().st_size} bytes instead of {entry['size']}"
            if sha256(path) != entry["sha256"]:
                return f"{name} has another sha256 than recorded"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    return None if "state.json" in manifest else "state.json is not in its manifest"
