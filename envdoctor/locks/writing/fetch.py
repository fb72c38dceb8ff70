"""Filling ``wheels/`` beside a lock, for machines without network: then pip and uv install from the lock alone."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from envdoctor.errors import Trouble
from envdoctor.facts.model import Interpreter, Unavailable
from envdoctor.locks import stack
from envdoctor.locks.platforms import interpreter as platform_of
from envdoctor.locks.platforms import place
from envdoctor.locks.stack import Locked, Stack
from envdoctor.locks.writing import listing, trim
from envdoctor.locks.writing.closure import connect, requires_in
from envdoctor.locks.writing.inputs import Inputs
from envdoctor.locks.writing.remote import Remote
from envdoctor.locks.writing.resolver import Unreachable, resolve
from envdoctor.locks.writing.trim import Resolved, Wheel
from envdoctor.sources.sources import Sources
from envdoctor.values.document import make_folder

AT_ONCE = 4  # downloads; more do not fill a line better, and indexes slow such clients down
BLOCK = 1024 * 1024
RESOLVE_SECONDS = 60.0  # exact pins leave nothing to search


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedLock:
    """The lock beside its wheels, and how many files of how many bytes were downloaded; the rest was there already."""

    lock: Path
    files: int
    downloaded: int
    size: int  # bytes downloaded


def fetch(
    found: Stack,
    interpreter: Interpreter,
    folder: Path,
    *,
    sources: Sources,
    progress: Callable[[str], None] = lambda _: None,
) -> FetchedLock:
    """Download the wheels that the stack locks for the interpreter into ``folder/wheels``, and the lock beside them.

    Every file is held to its size while it comes and to its sha256 before it gets its name; what lies there already is
    hashed again. At the end the wheels' own metadata must be closed. ``progress`` gets a line per file. Raises
    `Trouble`.
    """
    pins = stack.select(found, interpreter, found.lock.extras or ())
    if isinstance(pins, Unavailable):  # another locker's extras may exclude each other
        pins = stack.select(found, interpreter)
    if isinstance(pins, Unavailable):
        raise Trouble(pins.reason, file=found.path, remedy="Choose another stack, or another Python.", exit_code=3)
    wheels = folder / "wheels"
    new = [place for place in (wheels, folder) if not place.exists()]
    make_folder(wheels)
    try:
        return _fill(found, pins, interpreter, folder, sources, progress)
    finally:
        for place in new:  # what was made for nothing goes again
            with contextlib.suppress(OSError):
                place.rmdir()


def _fill(
    found: Stack,
    pins: Sequence[Locked],
    interpreter: Interpreter,
    folder: Path,
    sources: Sources,
    progress: Callable[[str], None],
) -> FetchedLock:
    wheels = folder / "wheels"
    if wheels.is_symlink():
        raise Trouble("is a link; wheels must lie beside their lock", file=wheels, remedy="Remove the link.")
    progress("looking at what is there already")
    missing = [pin for pin in pins if not _sound(wheels / pin.wheel, pin)]
    _room(wheels, missing)
    if missing:
        _download(missing, interpreter, wheels, sources, progress)
    _check_closed(found, pins, interpreter, wheels, sources)
    lock = folder / found.path.name
    if not (lock.exists() and lock.samefile(found.path)):
        shutil.copyfile(found.path, lock)
    return FetchedLock(lock=lock, files=len(pins), downloaded=len(missing), size=sum(pin.size or 0 for pin in missing))


def _sound(path: Path, pin: Locked) -> bool:
    try:
        with path.open("rb") as stream:
            digest = hashlib.sha256()
            while block := stream.read(BLOCK):
                digest.update(block)
    except OSError:
        return False
    return digest.hexdigest() == pin.sha256


def _room(folder: Path, missing: Sequence[Locked]) -> None:
    needed, free = sum(pin.size or 0 for pin in missing), shutil.disk_usage(folder).free
    if needed > free:
        gigabytes = f"{needed / 1e9:.1f} GB are needed and {free / 1e9:.1f} GB are free"
        raise Trouble(
            f"not enough room: {gigabytes}", file=folder, remedy="Free some, or name another folder.", exit_code=3
        )


def _download(
    missing: Sequence[Locked], interpreter: Interpreter, wheels: Path, sources: Sources, progress: Callable[[str], None]
) -> None:
    progress(f"asking where {len(missing)} wheels are")
    addresses = _addresses(missing, interpreter, sources)
    remote, done = Remote(sources), itertools.count(1)

    def one(pin: Locked) -> None:
        part = wheels / f".{pin.wheel}.part"
        try:
            digest = hashlib.sha256()
            with part.open("wb") as stream:
                for block in remote.content(addresses[pin.sha256], limit=pin.size):
                    digest.update(block)
                    stream.write(block)
                stream.flush()
                os.fsync(stream.fileno())
            if digest.hexdigest() != pin.sha256:
                raise Trouble(
                    f"{pin.wheel}: what came has sha256 {digest.hexdigest()}, the lock says {pin.sha256}",
                    remedy="Do not install it; ask whoever runs the index.",
                    exit_code=3,
                )
            os.replace(part, wheels / pin.wheel)
        except OSError as error:
            raise Trouble(error.strerror or str(error), file=part, exit_code=3) from error
        finally:
            part.unlink(missing_ok=True)
        progress(f"{next(done)} of {len(missing)}: {pin.wheel}")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, missing))


def _addresses(missing: Sequence[Locked], interpreter: Interpreter, sources: Sources) -> dict[str, str]:
    """sha256 -> address, as the user's sources have it: asked of their pages, and of uv what those do not tell.

    uv knows where builds of torch are published that the sources lack, its own default index, and keyrings.
    """
    found = listing.addresses(missing, sources)
    if len(found) == len({pin.sha256 for pin in missing}):
        return found
    failure: Trouble | None = None
    for number, view in enumerate(_views(sources)):
        left = tuple(pin for pin in missing if pin.sha256 not in found)
        if not left:
            break
        # An index by itself has some of them: ask for each alone, or the one it lacks would spoil the answer.
        for pins in [left] if number == 0 else [(pin,) for pin in left]:
            try:
                found |= _wheel_addresses(pins, interpreter, view)
            except Unreachable:
                raise  # each index by itself would be waited for as long: minutes, for what one attempt has said
            except Trouble as error:
                failure = failure or error
    for pin in missing:
        if pin.sha256 not in found:
            raise failure or Trouble(
                f"the configured sources have {pin.name} {pin.version}, but not the file that is locked ({pin.wheel})",
                remedy="Name the index that has it in pip's or uv's configuration.",
                exit_code=3,
            )
    return found


def _views(sources: Sources) -> Iterator[Sources]:
    """All sources together, then each index by itself: uv takes a version's files from the first index that has it."""
    yield sources
    if "UV_INDEX" in sources.uv:
        alone = {key: value for key, value in sources.uv.items() if key not in ("UV_INDEX", "UV_DEFAULT_INDEX")}
        for index in (sources.index, *sources.extra):
            yield replace(sources, uv=alone | ({"UV_DEFAULT_INDEX": index} if index else {}))


def _wheel_addresses(pins: Sequence[Locked], interpreter: Interpreter, sources: Sources) -> dict[str, str]:
    python, machine = place(interpreter)
    exact = Inputs(
        requirements=tuple(f"{pin.name}=={pin.version}" for pin in pins),
        pythons=(python,),
        machines=(machine,),
        exact=True,
    )
    packages = trim.read(resolve(exact, sources, seconds=RESOLVE_SECONDS), exact.served)
    return {wheel.sha256: wheel.address for package in packages for wheel in package.wheels}


def _check_closed(
    found: Stack, pins: Sequence[Locked], interpreter: Interpreter, wheels: Path, sources: Sources
) -> None:
    one = platform_of(*place(interpreter))
    remote = Remote(sources)
    packages = [
        Resolved(
            name=pin.name,
            version=pin.version,
            places=frozenset([place(one)]),
            wheels=(
                Wheel(
                    name=pin.wheel, address=(wheels / pin.wheel).absolute().as_uri(), sha256=pin.sha256, size=pin.size
                ),
            ),
            requires=requires_in(remote.metadata((wheels / pin.wheel).absolute().as_uri())),
        )
        for pin in pins
    ]
    _, problems = connect(packages, (), [one])
    if problems:
        raise Trouble("the lock is not closed: " + "; ".join(problems[:5]), file=found.path, exit_code=3)
