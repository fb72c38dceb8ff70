"""Stacks: PEP 751 lockfiles, and what they lock for one interpreter.

Reading and selection are `packaging.pylock`'s, but for the part of a bundled lock that `excerpt` reads; what else is
demanded of a lock that is going to be installed stands in `demands`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.markers import Environment
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from envdoctor.errors import Trouble
from envdoctor.facts.model import Interpreter, Unavailable
from envdoctor.knowledge.roles import PLUMBING
from envdoctor.locks import demands, excerpt
from envdoctor.values import shell
from envdoctor.values.digest import sha256
from envdoctor.values.document import line_of, read_text, read_toml
from envdoctor.values.frozen import frozen

if TYPE_CHECKING:
    from packaging.pylock import Package, Pylock


@frozen
class Locked:
    """One wheel of a stack, chosen for one interpreter."""

    name: str
    version: str
    wheel: str  # file name
    sha256: str
    size: int | None = None
    also: tuple[str, ...] = ()  # sha256 of the lock's other wheels of this version that this interpreter can run: a
    # mirror may hold only one of them, and any file that is in the lock will do


@frozen
class Stack:
    """A validated lockfile. ``cuda`` is the CUDA line of its torch ("13.0", "" for a CPU build, None without torch)."""

    name: str
    path: Path
    data: Mapping[str, Any]  # the document, or an excerpt of it
    torch: str | None
    cuda: str | None
    excerpt: bool = False

    @functools.cached_property
    def lock(self) -> Pylock:
        """As `packaging` reads it."""
        from packaging.pylock import Pylock  # takes longer to import than a check takes to judge

        return Pylock.from_dict(self.data)


def load(path: Path) -> Stack:
    """Read and validate ``pylock.<name>.toml``. Raises `Trouble` with the exact place of the first mistake."""
    return _validate(path, read_toml(path))


def load_for(path: Path, interpreter: Interpreter) -> Stack:
    """As much of a lock as one interpreter can use: `select` chooses the same as from all, in a quarter of the time.

    For locks that are linted before they are published: a mistake in what is left out is not looked for. One change
    asks for the same lock up to four times; it is read once, as long as nobody writes it.
    """
    try:
        status = path.stat()
    except OSError:
        return load(path)  # which says why
    stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
    return _load_for(
        path, stamp, interpreter.version, interpreter.platform or "", tuple(sorted(interpreter.markers.items()))
    )


@functools.lru_cache(maxsize=8)
def _load_for(
    path: Path, _stamp: tuple[int, ...], version: str, platform: str, markers: tuple[tuple[str, str], ...]
) -> Stack:
    try:
        data = excerpt.read(read_text(path), path, version, platform, dict(markers))
        if data is None:
            return load(path)
        versions = {package["name"]: Version(package["version"]) for package in reversed(data["packages"])}
        return _stack(path, data, versions, excerpt=True)
    except (Trouble, LookupError, ValueError):
        return load(path)  # which names the right line


def _validate(path: Path, data: dict[str, Any]) -> Stack:
    from packaging.pylock import Pylock, PylockUnsupportedVersionError, PylockValidationError

    again = f"Write it again: envdoctor lock {shell.word(_name(path))}"
    for where, problem in demands.of_document(data):
        raise Trouble(problem, file=path, where=line_of(path, where), remedy=again)
    try:
        lock = Pylock.from_dict(data)
    except PylockUnsupportedVersionError as error:
        raise Trouble(str(error), file=path, where="lock-version", remedy=again) from error
    except PylockValidationError as error:
        raise Trouble(error.message, file=path, where=line_of(path, error.context or ""), remedy=again) from error
    for where, problem in demands.of_lock(lock):
        raise Trouble(problem, file=path, where=line_of(path, where), remedy=again)
    found = _stack(path, data, {package.name: package.version for package in reversed(lock.packages)})
    vars(found)["lock"] = lock  # read once
    return found


def _name(path: Path) -> str:
    match = re.fullmatch(r"pylock\.([^.]+)\.toml", path.name)
    if not match:
        raise Trouble("a stack is named pylock.<name>.toml", file=path, remedy="Rename the file.")
    return match[1]


def _stack(
    path: Path, data: Mapping[str, Any], versions: Mapping[str, Version | None], *, excerpt: bool = False
) -> Stack:
    """``versions``: those of its packages, the first of each name."""
    version = versions.get("torch")
    torch = None if version is None else str(version)
    return Stack(name=_name(path), path=path, data=data, torch=torch, cuda=_cuda_line(versions, torch), excerpt=excerpt)


def _cuda_line(versions: Mapping[str, Version | None], torch: str | None) -> str | None:
    """CUDA line of the locked torch: its local label, else the CUDA runtime wheels locked with it."""
    if torch is None:
        return None
    label = torch.partition("+")[2]
    if label == "cpu":
        return ""
    if match := re.fullmatch(r"cu(\d+)(\d)", label):
        return f"{match[1]}.{match[2]}"
    for name, version in reversed(list(versions.items())):  # in the order of the lock
        if re.fullmatch(r"nvidia-cuda-runtime(-cu\d+)?", name) and version is not None:
            return f"{version.major}.{version.minor}"
    return ""


def resolved_on(stack: Stack) -> str | None:
    """The day (UTC, ISO 8601) on which the lock became what it is; None where another locker wrote it."""
    tool = stack.data.get("tool")
    own = tool.get("envdoctor") if isinstance(tool, Mapping) else None
    said = own.get("resolved") if isinstance(own, Mapping) else None
    return said if isinstance(said, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", said) else None


def extras(stack: Stack) -> frozenset[str]:
    """The extras that the lock has."""
    return frozenset(stack.data.get("extras") or ())


def select(stack: Stack, interpreter: Interpreter, extras: Collection[str] = ()) -> tuple[Locked, ...] | Unavailable:
    """The wheels that the stack locks for this interpreter, with these of its extras, by name; or why it locks none."""
    if not interpreter.markers:
        return Unavailable(reason="the interpreter's markers are not known", why="not-reported")
    usable = tags(interpreter)
    if stack.excerpt and not extras and (found := excerpt.choose(stack.data, interpreter.markers, usable)) is not None:
        return tuple(sorted((_locked_pin(*one) for one in found), key=lambda pin: pin.name))
    environment = Environment(**interpreter.markers)  # type: ignore[typeddict-item]
    try:
        chosen = list(stack.lock.select(environment=environment, tags=usable, extras=extras))
    except Exception as error:  # noqa: BLE001 - select() raises several kinds; each means "not for this interpreter"
        said = re.sub(
            r" at packages\[\d+\](?: and packages\[\d+\])?", "", str(error)
        )  # of a part of the lock it is another number
        return Unavailable(reason=f"stack {stack.name} is not for this Python: {said}", why="failed")
    return tuple(sorted(_pins(chosen, set(usable)), key=lambda pin: pin.name))


def _locked_pin(package: Mapping[str, Any], wheel: Mapping[str, Any], also: tuple[str, ...]) -> Locked:
    return Locked(
        name=package["name"],
        version=str(Version(package["version"])),
        wheel=wheel["path"].rpartition("/")[2],
        sha256=wheel["hashes"]["sha256"],
        size=wheel["size"],
        also=also,
    )


def _pins(chosen: Sequence[tuple[Package, object]], usable: Set[Tag]) -> Iterator[Locked]:
    from packaging.pylock import PackageWheel

    for package, file in chosen:
        if isinstance(file, PackageWheel):
            yield Locked(
                name=str(package.name),
                version=str(package.version),
                wheel=file.filename,
                sha256=file.hashes["sha256"],
                size=file.size,
                also=tuple(
                    other.hashes["sha256"]
                    for other in package.wheels or ()
                    if other is not file and parse_wheel_filename(other.filename)[3] & usable
                ),
            )


def tags(interpreter: Interpreter) -> list[Tag]:
    """Wheel tags of an interpreter that is not ours, newest platform first.

    `packaging.tags` asks the running interpreter; a lock may be judged for another one, so the platform list is made
    from its facts: manylinux from its glibc down to 2.5 (x86-64) or 2.17, as PEP 600 orders them.
    """
    version = tuple(int(part) for part in interpreter.version.split(".")[:2])
    platforms = list(_platforms(interpreter))
    short = "".join(map(str, version))
    threading = "t" if interpreter.free_threaded else ""
    return [
        *cpython_tags(version, abis=[f"cp{short}{threading}"], platforms=platforms),
        *compatible_tags(version, interpreter=f"cp{short}", platforms=platforms),
    ]


def _platforms(interpreter: Interpreter) -> Iterator[str]:
    if (interpreter.platform or "").startswith("macosx-"):
        yield from mac_platforms((_macos(interpreter), 0), interpreter.markers.get("platform_machine", "arm64"))
        return
    platform = (interpreter.platform or "any").replace("-", "_").replace(".", "_")
    machine = platform.partition("linux_")[2]
    if machine and interpreter.libc and interpreter.libc.startswith("glibc "):
        major, minor = (int(part) for part in interpreter.libc.removeprefix("glibc ").split(".")[:2])
        oldest = 5 if machine in ("x86_64", "i686") else 17
        legacy = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
        if major == 2:
            for number in range(minor, oldest - 1, -1):
                yield f"manylinux_2_{number}_{machine}"
                if number in legacy:
                    yield f"{legacy[number]}_{machine}"
    yield platform


def _macos(interpreter: Interpreter) -> int:
    """The major version of macOS, from its kernel's: Darwin 23 is macOS 14, Darwin 25 is macOS 26.

    ``sysconfig.get_platform()`` names the macOS that Python was built for, often 11. Where a report says nothing of the
    kernel it is 14, the oldest that current torch wheels accept.
    """
    darwin = interpreter.markers.get("platform_release", "").partition(".")[0]
    if not darwin.isdigit():
        return 14
    return int(darwin) - 9 if int(darwin) < 25 else int(darwin) + 1


def digest(pins: Sequence[Locked]) -> str:
    """The identity of a set of pins: exactly these wheels."""
    lines = "".join(f"{pin.name}=={pin.version} {pin.sha256}\n" for pin in sorted(pins, key=lambda pin: pin.name))
    return sha256(lines.encode())


def training_digest(pins: Sequence[Locked]) -> str:
    """The identity of the wheels that a training step may run: a baseline belongs to these.

    A later release of what runs during a download or a prompt makes no step slower, and no baseline stale.
    """
    return digest([pin for pin in pins if pin.name not in PLUMBING])


def by_name(pins: Sequence[Locked]) -> Mapping[str, Locked]:
    return {pin.name: pin for pin in pins}
