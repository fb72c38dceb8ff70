"""Checkpoints that are whole or absent: safetensors and JSON only, never a pickle.

A checkpoint is written into a temporary folder, every file is flushed to the disk, MANIFEST.json with sizes and
sha256 comes last, and one rename makes it visible. Loading takes the newest folder whose manifest verifies and says
which ones it passed over.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import threading
import uuid
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from trainer.errors import TrainerError

Tensors = Dict[str, Dict[str, torch.Tensor]]  # file stem -> name -> tensor
# Told of a state that is about to be saved; returns what to do with the folder once it is on the disk.
Announce = Callable[[Dict[str, Any]], Callable[[Path], None]]
_FOLDER = re.compile(r"step-\d{8}(\+\d+)?$")


def write(parent: Path, name: str, tensors: Tensors, state: Dict[str, Any], keep: int) -> Path:
    """Write `parent`/`name` and remove all but the newest `keep`. Safe against a kill at any moment.

    A whole checkpoint of that name with the same state is left as it is: the same position has the same bits.
    """
    from safetensors import SafetensorError  # what a full disk is to safetensors
    from safetensors.torch import save_file

    parent.mkdir(parents=True, exist_ok=True)
    _sweep(parent)
    target = parent / name
    if target.exists():
        if _fault(target) is None and json.loads((target / "state.json").read_text(encoding="utf-8")) == json.loads(
            json.dumps(state)
        ):
            return target
        shutil.rmtree(target)
    partial = parent / ("%s.tmp-%s" % (target.name, uuid.uuid4().hex[:8]))
    partial.mkdir()
    try:
        for stem, group in tensors.items():
            save_file({name: tensor.contiguous() for name, tensor in group.items()}, partial / (stem + ".safetensors"))
        (partial / "state.json").write_text(json.dumps(state), encoding="utf-8")
        manifest = {
            path.name: {"size": path.stat().st_size, "sha256": _sha256(path)} for path in sorted(partial.iterdir())
        }
        (partial / "MANIFEST.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        for path in partial.iterdir():
            _flush(path)
        _flush(partial)
        os.rename(partial, target)
        _flush(parent)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise TrainerError(
            "checkpoint-not-written",
            "%s: %s" % (target, getattr(error, "strerror", None) or error),
            "Free some space; earlier checkpoints are intact.",
        ) from None
    for old in _steps(parent)[keep:]:
        shutil.rmtree(old, ignore_errors=True)
    _sweep(parent)
    return target


def newest(parent: Path) -> Tuple[Optional[Path], List[str]]:
    """The newest checkpoint that verifies (None when there is none), and one sentence for each that did not."""
    passed_over: List[str] = []
    for folder in _steps(parent):
        fault = _fault(folder)
        if fault is None:
            return folder, passed_over
        passed_over.append("%s is damaged (%s) and was passed over" % (folder, fault))
    return None, passed_over


def glance(parent: Path) -> Dict[str, Any]:
    """The state of the newest checkpoint, unverified; {} when there is none that can be read."""
    for folder in _steps(parent):
        try:
            state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # `newest` will say what is wrong with it
        if isinstance(state, dict):
            return state
    return {}


def read(folder: Path) -> Tuple[Dict[str, Any], Tensors]:
    """(state, tensors) of a checkpoint that `newest` has verified."""
    from safetensors.torch import load_file

    state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    return state, {path.stem: load_file(path) for path in sorted(folder.glob("*.safetensors"))}


def publish(target: Path, fill: Callable[[Path], None]) -> None:
    """Let `fill` write a folder, flush it, then put it at `target` in one rename (the previous one goes afterwards)."""
    from safetensors import SafetensorError

    target.parent.mkdir(parents=True, exist_ok=True)
    partial, old = (target.with_name("%s.%s-%s" % (target.name, word, uuid.uuid4().hex[:8])) for word in ("tmp", "old"))
    try:
        partial.mkdir()
        fill(partial)
        for path in [*partial.rglob("*"), partial]:
            _flush(path)
        if target.exists():
            os.rename(target, old)
        os.rename(partial, target)
        _flush(target.parent)
        shutil.rmtree(old, ignore_errors=True)
    except (OSError, SafetensorError) as error:
        raise TrainerError(
            "model-not-written",
            "%s: %s" % (target, getattr(error, "strerror", None) or error),
            "Free some space, then start again.",
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def folder_name(step: int, micro: int) -> str:
    """step-NNNNNNNN, with +M when M micro-batches of the next step are already in the gradients; sorts by age."""
    return "step-%08d" % step + ("+%d" % micro if micro else "")


class Saver:
    """Writes checkpoints in a thread, at most one at a time, from copies taken while training stands still.

    `blocking`: `save` waits for the disk, as plain loops do.
    """

    def __init__(self, parent: Path, keep: int, blocking: bool = False, announce: Optional[Announce] = None) -> None:
        self.parent, self.keep, self.blocking, self.announce = parent, keep, blocking, announce
        self._thread: Optional[threading.Thread] = None
        self._error: Optional[BaseException] = None

    def save(self, name: str, tensors: Tensors, state: Dict[str, Any]) -> None:
        """Copy now, write in the background as folder `name`. Raises what went wrong with the previous write."""
        self.wait()
        copies = {
            stem: {name: tensor.detach().to("cpu", copy=True) for name, tensor in group.items()}
            for stem, group in tensors.items()
        }
        then = self.announce(state) if self.announce else None
        self._thread = threading.Thread(target=self._write, args=(name, copies, state, then), name="checkpoint")
        self._thread.start()
        if self.blocking:
            self.wait()

    def _write(
        self, name: str, tensors: Tensors, state: Dict[str, Any], then: Optional[Callable[[Path], None]]
    ) -> None:
        try:
            folder = write(self.parent, name, tensors, state, self.keep)
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


def _steps(parent: Path) -> List[Path]:
    """Checkpoint folders, newest first."""
    found = [path for path in parent.glob("step-*") if _FOLDER.match(path.name)] if parent.is_dir() else []
    return sorted(found, key=lambda path: path.name, reverse=True)


def _sweep(parent: Path) -> None:
    for path in parent.glob("step-*.tmp-*"):  # left by a run that was killed while writing
        shutil.rmtree(path, ignore_errors=True)


def _fault(folder: Path) -> Optional[str]:
    try:
        manifest = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))
        for name, entry in manifest.items():
            path = folder / name
            if path.stat().st_size != entry["size"]:
                return "%s has %d bytes instead of %d" % (name, path.stat().st_size, entry["size"])
            if _sha256(path) != entry["sha256"]:
                return "%s has another sha256 than recorded" % name
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return "%s: %s" % (type(error).__name__, error)
    return None if "state.json" in manifest else "state.json is not in its manifest"


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 22), b""):
            digest.update(block)
    return digest.hexdigest()


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
