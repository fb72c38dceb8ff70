"""A run's folder holds one run: who writes there, what was asked of it, and how it ended.

OUTPUT/run.json keeps the options that decide the result, with fingerprints of data and model. A command that would
give another result does not go on from there; the same command on a finished run has nothing to do.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, TextIO

from trainer.data import whole
from trainer.errors import TrainerError, disk_remedy
from trainer.options.option import is_decided
from trainer.options.settings import Settings

if TYPE_CHECKING:
    from trainer.compute.parallel import Group  # torch is not needed to look into a folder

RECORD, LOCK, RUNS = "run.json", "run.lock", "runs"
# What a new run does not share with the one that was there; checkpoints and rft move aside when they are asked for.
LEFT_BEHIND = (RECORD, "metrics.jsonl", "model", "adapter", "best", "samples.jsonl", "evaluations.jsonl")
LENGTH = ("epochs", "max_steps")  # with a constant learning rate, a longer run goes on where a shorter one ended
EDGE = 1 << 20  # bytes at both ends of a weight file that stand for all of it

Record = dict[str, Any]


def run_folder(settings: Settings, task: str) -> str:
    """The run's folder: as given, else the first free runs/TASK-DATE-N (only named, not made)."""
    if settings.output:
        return settings.output
    stem, number = Path(RUNS) / f"{task}-{time.strftime('%Y-%m-%d')}", 1
    while Path(f"{stem}-{number}").exists():
        number += 1
    return f"{stem}-{number}"


def with_folder(settings: Settings, task: str, group: Group) -> Settings:
    """The settings with the run's folder named: that which the first process finds free."""
    return dataclasses.replace(settings, output=group.gathered(run_folder(settings, task))[0])


@contextlib.contextmanager
def claim_folder(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Nobody else trains into `folder` meanwhile. TrainerError names the process that does."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        raise TrainerError("output-not-writable", f"{folder}: {error.strerror or error}", disk_remedy(error)) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _holder(lock) or "unknown"
            raise TrainerError(
                "folder-in-use", f"{folder}: another run (process {owner}) writes here",
                "Wait until it is done, or choose another --output.",
            ) from None  # fmt: skip
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL):
                raise
            say(f"{folder}: this file system knows no locks; see to it that no other run writes there")
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        try:
            yield
        finally:
            if [path.name for path in folder.iterdir()] == [LOCK]:  # the run failed before it wrote anything
                (folder / LOCK).unlink(missing_ok=True)
                folder.rmdir()


@contextlib.contextmanager
def claim(settings: Settings, task: str, say: Callable[[str], None]) -> Iterator[Record]:
    """The run's folder is this run's meanwhile; gives what is known of the run that is in it (`begin`)."""
    with claim_folder(Path(settings.output), say):
        yield begin(settings, task, say)


def enter(settings: Settings, task: str, content: dict[str, str], known: Record) -> Record:
    """The record of this very run where it has finished; else {}, and the folder keeps what is asked now.

    TrainerError when the run in the folder had other data or another model than `content` (fingerprints) says.
    """
    check_content(Path(settings.output), known, content)
    if known and is_done(settings, known):
        return known
    # Losses of what was trained before stay, so that a run that was stopped tells of all of it in the end.
    kept = {name: known.get(name) for name in ("first_loss", "last_loss")}
    write(settings, task, content, outcome=None, **kept)
    return {}


def _holder(lock: TextIO) -> str:
    """The process that holds the lock. The kernel knows; the file may still name the run before, which has ended."""
    status = os.fstat(lock.fileno())
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()  # 1: FLOCK ADVISORY WRITE 4711 08:01:131 0 EOF; proc_locks(5)
            if words[1] == "FLOCK" and words[5].endswith(f":{status.st_ino}") and words[4].isdigit():
                return words[4]
    lock.seek(0)
    return lock.read().strip()


def begin(settings: Settings, task: str, say: Callable[[str], None]) -> Record:
    """What is known of the run in the folder; {} when it is a new one. With resume=never what was there moves aside.

    TrainerError names the options that differ from those of a run that has got somewhere.
    """
    folder = Path(settings.output)
    known = read(folder)
    if settings.resume == "never":
        moved = _move_aside(folder)
        if moved:
            say(f"resume=never: what was in {folder} is now in {', '.join(moved)}")
        return {}
    if not known or not (known.get("outcome") == "finished" or any(folder.glob("checkpoints/step-*"))):
        return {}
    now = deciding_options(settings)
    before = {name: known["settings"].get(name, _before(settings, name)) for name in now}
    changed = [name for name, value in now.items() if before[name] != value]
    if "constant" == now["schedule"] == known["settings"].get("schedule"):
        changed = [name for name in changed if name not in LENGTH]
    if known.get("task") != task:
        raise _other(folder, known, f"of the task {known.get('task')}, now {task}")
    if changed:
        texts = (
            f"{name}={_format_value(name, before[name])}, now {_format_value(name, now[name])}" for name in changed
        )
        raise _other(folder, known, "with " + "; ".join(texts))
    return known


def check_content(folder: Path, known: Record, content: dict[str, str]) -> None:
    """TrainerError when the run in the folder had other data or another model than `content` (fingerprints) says."""
    other = [name for name, value in content.items() if known.get("content", {}).get(name, value) != value]
    if other:
        words = {"data": "other data", "model": "another model", "validation": "other validation data"}
        raise _other(folder, known, "on " + " and ".join(words[name] for name in other))


def is_done(settings: Settings, known: Record) -> bool:
    """Is this command's run finished, with everything the command asks for?"""
    folder, now = Path(settings.output), deciding_options(settings)
    return (
        known.get("outcome") == "finished"
        and all(known["settings"].get(name) == now[name] for name in LENGTH)
        and (not settings.save_model or (bool(known.get("model_path")) and Path(known["model_path"]).is_dir()))
        and (not settings.merge_lora or (folder / "model").is_dir())
        and (not settings.push_to or known.get("pushed") == settings.push_to)
        and (not settings.upload or known.get("upload") == settings.upload)
    )


def write(settings: Settings, task: str, content: dict[str, str], **more: Any) -> None:
    """Keep what was asked, and how far it came (`more`). TrainerError when it cannot be written."""
    folder = Path(settings.output)
    record = {"schema": 1, "task": task, "settings": deciding_options(settings), "content": content, **more}
    try:
        whole.write_file(folder / RECORD, json.dumps(record, indent=1).encode())
    except OSError as error:
        raise TrainerError("output-not-writable", f"{folder}: {error.strerror or error}", disk_remedy(error)) from None


def read(folder: Path) -> Record:
    """The record in a run's folder; {} when there is none."""
    try:
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("settings"), dict) else {}


def _before(settings: Settings, name: str) -> Any:
    """What a run had whose record is older than the option: its default, or what this run decides."""
    item = next(item for item in dataclasses.fields(settings) if item.name == name)
    return getattr(settings, name) if item.metadata["shown"] else item.default


def deciding_options(settings: Settings) -> dict[str, Any]:
    """Options that decide the result, as JSON gives them back."""
    items = (item for item in dataclasses.fields(settings) if item.metadata["result"])
    found: dict[str, Any] = json.loads(json.dumps({item.name: getattr(settings, item.name) for item in items}))
    return found


def fingerprints(settings: Settings, facts: Mapping[str, Any]) -> dict[str, str]:
    """Of what a run is about: its data, as they were prepared, and the model that it starts from."""
    found = {"data": facts["fingerprint"], "model": model_fingerprint(settings)}
    return {**found, "validation": facts["eval_fingerprint"]} if "eval_fingerprint" in facts else found


def model_fingerprint(settings: Settings) -> str:
    """Names the model to start from by its content, wherever it lies: its small files, and both ends of its weights."""
    if settings.model and Path(settings.model).is_dir():
        files = [path for path in sorted(Path(settings.model).iterdir()) if path.suffix in (".json", ".safetensors")]
    else:
        files = [Path(settings.model_config)] if settings.model_config else []
    if settings.adapter:
        files += [Path(settings.adapter) / name for name in ("adapter_config.json", "adapter_model.safetensors")]
    digest = hashlib.sha256()
    for path in files:
        if not path.is_file():
            continue
        with path.open("rb") as stream:
            size = path.stat().st_size
            digest.update(f"{path.name} {size}\n".encode())
            digest.update(stream.read(EDGE))
            stream.seek(max(0, size - EDGE))
            digest.update(stream.read(EDGE))
    return digest.hexdigest()


def _other(folder: Path, known: Record, how: str) -> TrainerError:
    kind = "a finished run" if known.get("outcome") == "finished" else "a run"
    return TrainerError(
        "other-run", f"{folder} holds {kind} {how}", "Choose another --output, or start over with --resume never."
    )


def _format_value(name: str, value: Any) -> str:
    (item,) = (item for item in dataclasses.fields(Settings) if item.name == name)
    if is_decided(item, value):
        return "auto"
    return json.dumps(value) if not isinstance(value, str) else value


def _move_aside(folder: Path) -> list[str]:
    there = [folder / name for name in LEFT_BEHIND if (folder / name).exists()]
    moved, number = [], 1
    while any(_aside(path, number).exists() for path in there):
        number += 1
    for path in there:
        os.rename(path, _aside(path, number))
        moved.append(_aside(path, number).name)
    return moved


def _aside(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}.before-{number}{path.suffix}")
