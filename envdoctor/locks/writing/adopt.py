"""`envdoctor lock --from`: a stack and a target of one's own, from what describes an environment already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.pylock import Pylock, PylockValidationError
from packaging.requirements import InvalidRequirement, Requirement

from envdoctor.change.installers import find_uv
from envdoctor.errors import Trouble
from envdoctor.facts.model import Interpreter, Packages
from envdoctor.locks import demands, stack
from envdoctor.locks.platforms import MACHINES, PYTHONS, place, served_by
from envdoctor.locks.writing import inputs as files
from envdoctor.locks.writing import trim
from envdoctor.locks.writing.inputs import Inputs
from envdoctor.locks.writing.lock import Written, path_of, write_answer, write_stack
from envdoctor.locks.writing.trim import Resolved
from envdoctor.sources.sources import Sources
from envdoctor.system import temporary
from envdoctor.system.process import run
from envdoctor.values.document import line_of, read_toml

EXPORT_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """A stack made from somebody's own description. ``left_out`` says in words what could not be locked."""

    written: Written
    left_out: tuple[str, ...] = ()


def adopt_file(path: Path, name: str, *, folder: Path, interpreter: Interpreter, sources: Sources) -> Adopted:
    """A stack from a requirements file, a pylock file or a uv.lock; which of them, its name tells.

    A requirements file without a ``lock`` block is locked for ``interpreter``; the others say whom they serve. A
    uv.lock needs its pyproject.toml beside it. Raises `Trouble` for what is not made of released wheels.
    """
    before = _before(name, folder)
    if path.name == "uv.lock":
        answer = _export_uv_lock(path, sources)
    elif path.suffix == ".toml" and path.name.startswith("pylock."):
        answer = read_toml(path)
    elif path.suffix == ".toml":
        raise Trouble(
            "is neither a requirements file, nor named as a lock is",
            file=path,
            remedy="A lock is called pylock.toml, pylock.NAME.toml or uv.lock.",
        )
    else:
        python, machine = _platform_of(interpreter)
        wanted = files.read(path, pythons=(python,), machines=(machine,))
        return Adopted(written=write_stack(name, wanted, folder=folder, sources=sources))
    lock = _valid(answer, path)
    answer = trim.with_addresses(_with_wheels_only(answer, path), path.parent)
    served = _covered_interpreters(answer, lock, path)
    wheels = [file for package in lock.packages for file in package.wheels or ()]
    absent = any(file.path is not None and not (path.parent / file.path).is_file() for file in wheels)
    wanted = Inputs(
        requirements=tuple(_pins(trim.read(answer, served), served)) if absent else (),
        pythons=tuple(python for python in PYTHONS if any(place(one)[0] == python for one in served)),
        machines=tuple(machine for machine in MACHINES if any(place(one)[1] == machine for one in served)),
        exact=True,
    )
    if absent:  # a lock without addresses, as ours are: the user's sources know where its files are
        return Adopted(written=write_stack(name, wanted, folder=folder, sources=sources))
    return Adopted(written=write_answer(name, answer, wanted, folder=folder, sources=sources, before=before))


def adopt_environment(
    packages: Packages, interpreter: Interpreter, name: str, *, folder: Path, sources: Sources, force: bool = False
) -> Adopted:
    """A stack of exactly the versions that an environment holds, hashes and sizes from the user's sources.

    What was installed from a folder, a repository or a single file is left out, and said. Raises `Trouble` for one that
    contradicts itself, unless ``force``.
    """
    python, machine = _platform_of(interpreter)
    pins, left_out = [], []
    for one in sorted(packages.distributions, key=lambda one: one.name):
        if one.editable or one.source is not None:
            what = "an editable install" if one.editable else f"not from an index ({one.source})"
            left_out.append(f"{one.name} {one.version}: {what}")
            continue
        try:
            pins.append(str(Requirement(f"{one.name}=={one.version}")))
        except InvalidRequirement:
            left_out.append(f"{one.name} {one.version}: not a version that an index can have")
    if not pins:
        raise Trouble(
            "the environment holds nothing that can be locked", remedy="Install something first.", exit_code=3
        )
    wanted = Inputs(requirements=tuple(dict.fromkeys(pins)), pythons=(python,), machines=(machine,), exact=True)
    written = write_stack(name, wanted, folder=folder, sources=sources, force=force)
    return Adopted(written=written, left_out=tuple(left_out))


def _before(name: str, folder: Path) -> stack.Stack | None:
    path = path_of(name, folder)
    return stack.load(path) if path.exists() else None


def _platform_of(interpreter: Interpreter) -> tuple[str, str]:
    python, machine = place(interpreter)
    if python not in PYTHONS or machine not in MACHINES or interpreter.markers.get("sys_platform") != "linux":
        raise Trouble(
            f"stacks are for CPython {PYTHONS[0]} to {PYTHONS[-1]} on Linux ({', '.join(MACHINES)}), "
            f"not for Python {python} on {interpreter.platform or machine}",
            exit_code=3,
        )
    return python, machine


def _pins(packages: Iterable[Resolved], served: Iterable[Interpreter]) -> Iterator[str]:
    whole = frozenset(map(place, served))
    for package in packages:
        where = "" if package.places == whole else f" ; {trim.marker(package.places, whole)}"
        yield f"{package.name}=={package.version}{where}"


def _export_uv_lock(path: Path, sources: Sources) -> dict[str, Any]:
    """A uv.lock as a pylock dict, by uv itself and without a network."""
    uv = find_uv()
    if uv is None:
        raise Trouble("uv was not found", remedy="Install it beside envdoctor: pip install uv", exit_code=3)
    if not (path.parent / "pyproject.toml").is_file():
        raise Trouble("its pyproject.toml is not beside it", file=path, remedy="Copy both files into one folder.")
    with temporary.folder() as folder:
        answer = folder / "pylock.toml"
        outcome = run(
            [
                uv, "export", "--project", path.parent.absolute(), "--frozen", "--no-emit-project",
                "--no-default-groups", "--format", "pylock.toml", "--output-file", answer, "--quiet", "--no-header",
            ],
            deadline=EXPORT_SECONDS,
            cwd=folder,
            env={**sources.uv, "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"},
        )  # fmt: skip
        if not outcome.ok:
            words = sources.redact(outcome.err.strip())
            raise Trouble(
                f"uv could not read it ({outcome.ending})\n{words}", file=path, remedy="Write it again: uv lock"
            )
        return read_toml(answer)


def _valid(answer: Mapping[str, Any], path: Path) -> Pylock:
    for where, problem in demands.of_document(answer):
        raise Trouble(
            problem, file=path, where=line_of(path, where), remedy="Write it again with the tool that made it."
        )
    try:
        return Pylock.from_dict(answer)
    except PylockValidationError as error:
        where = line_of(path, error.context or "")
        raise Trouble(
            error.message, file=path, where=where, remedy="Write it again with the tool that made it."
        ) from error


def _with_wheels_only(answer: Mapping[str, Any], path: Path) -> dict[str, Any]:
    for index, package in enumerate(answer["packages"]):
        if not package.get("wheels"):
            raise Trouble(
                f"{package['name']} has no wheel in it, only what must be built",
                file=path,
                where=line_of(path, f"packages[{index}]"),
                remedy="A stack holds released wheels only: choose a version that has some, or leave it out.",
            )
    return {**answer, "packages": [dict(package) for package in answer["packages"]]}


def _covered_interpreters(answer: Mapping[str, Any], lock: Pylock, path: Path) -> tuple[Interpreter, ...]:
    """The interpreters that the lock says it serves and has wheels for, as whole rows of Pythons and machines."""
    said: Sequence[Interpreter] = served_by(lock.requires_python, lock.environments)
    missing = trim.uncovered_places(trim.read(answer, said), said)
    covered = [one for one in said if place(one) not in missing]
    machines = {machine for _, machine in map(place, covered)}
    pythons = {python for python, _ in map(place, covered)}
    if len(covered) < len(machines) * len(pythons):  # not a rectangle: keep the machine that is served best
        best = max(sorted(machines), key=lambda machine: sum(place(one)[1] == machine for one in covered))
        covered = [one for one in covered if place(one)[1] == best]
    if not covered:
        why = f": {next(iter(missing.values()))}" if missing else ""
        raise Trouble(f"it serves no CPython {PYTHONS[0]} to {PYTHONS[-1]} on Linux{why}", file=path)
    return tuple(covered)
