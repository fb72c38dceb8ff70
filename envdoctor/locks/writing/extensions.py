"""Extensions for an environment: the releases whose wheels fit what it holds, which stays as it is, torch above all."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import parse_wheel_filename

from envdoctor.errors import Trouble
from envdoctor.facts.model import Interpreter
from envdoctor.knowledge import pairs
from envdoctor.knowledge.with_extensions import PublishedExtension
from envdoctor.locks.platforms import MACHINES, PYTHONS, interpreter, place
from envdoctor.locks.stack import Locked, Stack, load, select, tags
from envdoctor.locks.writing import trim
from envdoctor.locks.writing.inputs import Inputs
from envdoctor.locks.writing.lock import Written, path_of, write_answer
from envdoctor.locks.writing.resolver import resolve
from envdoctor.locks.writing.trim import Resolved
from envdoctor.sources.sources import Sources


def find_wheels(
    wanted: Sequence[PublishedExtension], held: Mapping[str, str], interpreter: Interpreter, sources: Sources
) -> tuple[Locked, ...]:
    """The wheels to add, extensions and what they need beyond ``held`` (version by name), by hash.

    Everything that is held is a constraint: an extension that needs another torch has no solution here. Raises
    `Trouble` (exit code 3) that says of each extension without a fitting wheel what a build takes, or what does its
    work.
    """
    python, machine = place(interpreter)
    if python not in PYTHONS or machine not in MACHINES or interpreter.markers.get("sys_platform") != "linux":
        raise Trouble(f"extensions are chosen for CPython on Linux, not for Python {python} on {machine}", exit_code=3)
    torch = held.get("torch")
    if torch is None:
        raise Trouble(
            "there is no torch to extend", where="--with", remedy="Install it first: envdoctor fix", exit_code=3
        )

    homeless = [one for one in wanted if one.elsewhere]
    if homeless:
        says = " ".join(one.without_wheel(torch, python) for one in homeless)
        raise Trouble(says, where="--with", remedy=_leave_out(homeless), exit_code=3)

    def ask(some: Sequence[PublishedExtension]) -> tuple[Locked, ...]:
        inputs = Inputs(
            requirements=(*(one.requirement(torch) for one in some), f"torch=={torch}"),
            constraints=(*_constraints(held), *_triton(torch, held)),
            pythons=(python,),
            machines=(machine,),
        )
        answer = resolve(inputs, sources)
        packages = trim.read(answer, inputs.served)
        return tuple(_lock_wheel(one, interpreter) for one in packages if not _is_held(one, held))

    try:
        return ask(wanted)
    except Trouble as all_of_them:
        if all_of_them.exit_code != 3 or "network" in all_of_them.problem.partition("\n")[0]:
            raise
        failing = {one.name: why for one in wanted if len(wanted) > 1 and (why := _why_not(ask, one)) is not None}
        alone = [one for one in wanted if one.name in failing] or list(wanted)
        says = " ".join(one.without_wheel(torch, python) for one in alone)
        words = all_of_them if len(wanted) == 1 else next(iter(failing.values()), all_of_them)
        problem = f"{says}\n{_last_words(words)}"
        raise Trouble(problem, where="--with", remedy=_leave_out(alone), exit_code=3) from all_of_them


def _leave_out(some: Sequence[PublishedExtension]) -> str:
    return f"Leave out {', '.join(one.name for one in some)}; nothing was changed."


def _why_not(ask: object, one: PublishedExtension) -> Trouble | None:
    assert callable(ask)
    try:
        ask((one,))
    except Trouble as trouble:
        return trouble
    return None


def _last_words(trouble: Trouble) -> str:
    """What uv said of it, in its last lines."""
    return "\n".join(trouble.problem.splitlines()[1:][-6:])


def _constraints(held: Mapping[str, str]) -> list[str]:
    """Exactly what is there. pip is no part of what trains, and an installer may need a newer one."""
    lines = []
    for name, version in sorted(held.items()):
        try:
            lines.append(str(Requirement(f"{name}=={version}")))
        except InvalidRequirement:
            continue
    return [line for line in lines if not line.startswith(("pip==", "setuptools==", "wheel=="))]


def _triton(torch: str, held: Mapping[str, str]) -> list[str]:
    """A build of torch without CUDA requires no triton: what comes with an extension has to be this torch's own."""
    line = pairs.triton_for(torch)
    return [] if line is None or "triton" in held else [f"triton=={line}.*"]


def _triton_of(lock: Stack, pythons: Sequence[str], machines: Sequence[str]) -> list[str]:
    """The same for all that a lock serves, where they all get one torch."""
    chosen = [select(lock, interpreter(python, machine)) for python in pythons for machine in machines]
    held = [{pin.name: pin.version for pin in pins} for pins in chosen if isinstance(pins, tuple)]
    torches = {versions.get("torch", "") for versions in held}
    return _triton(torches.pop(), held[0]) if len(torches) == 1 and "" not in torches else []


def _is_held(package: Resolved, held: Mapping[str, str]) -> bool:
    return held.get(package.name, "").partition("+")[0] == package.version.partition("+")[0]


def _lock_wheel(package: Resolved, interpreter: Interpreter) -> Locked:
    """The best of the package's wheels for this interpreter, and the hashes of those that would do as well."""
    ranks = {tag: rank for rank, tag in reversed(list(enumerate(tags(interpreter))))}
    ranked = sorted(
        (min(rank for tag in parse_wheel_filename(one.name)[3] if (rank := ranks.get(tag)) is not None), one.name, one)
        for one in package.wheels
        if any(tag in ranks for tag in parse_wheel_filename(one.name)[3])
    )
    if not ranked:
        raise Trouble(f"{package.name} {package.version} has no wheel for this Python", where="--with", exit_code=3)
    best = ranked[0][2]
    others = tuple(one.sha256 for _, _, one in ranked[1:])
    return Locked(
        name=package.name, version=package.version, wheel=best.name, sha256=best.sha256, size=best.size, also=others
    )


def write_extended(
    output: str, inputs: Inputs, lock: Stack, wanted: Sequence[PublishedExtension], *, folder: Path, sources: Sources
) -> Written:
    """A stack of one's own: the requirements of a stack, and extensions as its extras, resolved together.

    What the stack locks is preferred, and its torch is pinned by its requirements. What the extensions bring is locked
    for those who ask for them (``marker = "'liger-kernel' in extras"``), all else for everybody. It serves Linux only,
    where extensions have wheels; x86-64 alone, and at last this Python alone, where there are none for the others.
    Raises `Trouble` (exit code 3).
    """
    more = {one.name: one.requirement(lock.torch or "") for one in wanted}
    linux = tuple(machine for machine in inputs.machines if machine in MACHINES)
    path = path_of(output, folder)
    mine = tuple(one for one in inputs.pythons if one == f"{sys.version_info[0]}.{sys.version_info[1]}")
    last = (linux[:1], mine or inputs.pythons)
    for machines, pythons in dict.fromkeys(((linux, inputs.pythons), (linux[:1], inputs.pythons), last)):
        requirements = (*inputs.requirements, *more.values())
        constraints = (*inputs.constraints, *_triton_of(lock, pythons, machines))
        larger = replace(inputs, requirements=requirements, constraints=constraints, machines=machines, pythons=pythons)
        try:
            answer = resolve(larger, sources, keep=lock)
            before = load(path) if path.exists() else None
            return write_answer(output, answer, larger, folder=folder, sources=sources, before=before, extras=more)
        except Trouble as trouble:
            if trouble.exit_code != 3 or (machines, pythons) == last:
                raise
    raise Trouble("the stack serves no Linux", file=lock.path, exit_code=3)
