"""Sampled answers on disk: a line per batch, added whole, so that a run killed at any moment goes on where it was.

The first line names what the answers depend on. A torn last line, which a kill can leave, is cut off.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Callable

from trainer.errors import TrainerError
from trainer.tasks.answers.sampling import Answer


@dataclass(frozen=True)
class Done:
    """One finished batch: its number, its answers, and the wall and CPU seconds they took."""

    batch: int
    answers: list[Answer]
    seconds: float
    cpu_seconds: float


Append = Callable[[Done], None]


@contextmanager
def samples(path: Path, identity: str) -> Iterator[tuple[list[Done], Append]]:
    """The batches already in the file, and how to add one. TrainerError when the file is of another run, in use by
    one, damaged, or cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a+b")
    except OSError as error:
        raise _unwritable(path, error) from None
    with stream:
        _alone(path, stream)
        done = _read(path, stream, identity)

        def append(item: Done) -> None:
            _write(path, stream, asdict(item))

        yield done, append


def _read(path: Path, stream: BinaryIO, identity: str) -> list[Done]:
    stream.seek(0)
    done: list[Done] = []
    whole = 0
    for number, line in enumerate(stream, 1):
        if not line.endswith(b"\n"):
            break  # torn by a kill
        try:
            values = json.loads(line)
            if number == 1:
                found = values["identity"]
            else:
                done.append(Done(**{**values, "answers": [Answer(**answer) for answer in values["answers"]]}))
        except (ValueError, KeyError, TypeError):
            raise TrainerError(
                "damaged-samples", f"{path}, line {number}: not a batch of answers", "Move that file away."
            ) from None
        if number == 1 and found != identity:
            raise TrainerError(
                "other-run",
                f"{path} holds answers to other prompts, or of another model or other settings",
                "Choose another output, or set resume=never.",
            )
        whole += len(line)
    try:
        stream.truncate(whole)
    except OSError as error:
        raise _unwritable(path, error) from None
    stream.seek(0, os.SEEK_END)
    if not whole:
        _write(path, stream, {"schema": 1, "identity": identity})
    return done


def _write(path: Path, stream: BinaryIO, values: dict[str, Any]) -> None:
    try:
        stream.write(json.dumps(values).encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())
    except OSError as error:
        raise _unwritable(path, error) from None


def _alone(path: Path, stream: BinaryIO) -> None:
    try:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return
    except BlockingIOError:
        raise TrainerError("in-use", f"{path}: another run is sampling into it", "Choose another output.") from None
    except OSError:
        return  # a file system without locks


def _unwritable(path: Path, error: OSError) -> TrainerError:
    return TrainerError(
        "samples-not-written", f"{path}: {error.strerror or error}",
        "Free some space or choose another output; the answers before it are kept.",
    )  # fmt: skip
