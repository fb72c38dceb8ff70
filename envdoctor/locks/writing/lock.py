"""`envdoctor lock`: from requirements to a lockfile; trimmed, closed and checked before it is written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from envdoctor.errors import Trouble
from envdoctor.facts.model import Interpreter
from envdoctor.locks import stack
from envdoctor.locks.lint import lint
from envdoctor.locks.stack import Stack
from envdoctor.locks.writing import trim
from envdoctor.locks.writing.closure import connect, optional, requires_in
from envdoctor.locks.writing.inputs import Inputs
from envdoctor.locks.writing.remote import Remote, each
from envdoctor.locks.writing.resolver import resolve
from envdoctor.locks.writing.trim import Resolved
from envdoctor.locks.writing.write import text
from envdoctor.sources.sources import Sources
from envdoctor.system import temporary
from envdoctor.values.document import make_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of a lock."""

    stack: Stack
    changed: bool  # False: the file already held these very bytes
    changes: tuple[str, ...] = ()  # what differs from the file that was there: "torch 2.10.0 -> 2.11.0"
    origins: Mapping[str, int] | None = None  # host -> wheels found there; several hosts deserve a look
    problems: tuple[str, ...] = ()  # contradictions inside an environment that was locked as it was found


def write_stack(
    name: str, inputs: Inputs, *, folder: Path, sources: Sources, upgrade: bool = True, force: bool = True
) -> Written:
    """Resolve ``inputs`` and write ``folder/pylock.<name>.toml``; the same answer gives the same bytes.

    Without ``upgrade`` the versions of the present lock are kept where the requirements allow it. The file is replaced
    in one step, after the new one has been read back and linted. Raises `Trouble`.
    """
    path = path_of(name, folder)
    before = stack.load(path) if path.exists() else None
    answer = resolve(inputs, sources, keep=None if upgrade else before)
    return write_answer(name, answer, inputs, folder=folder, sources=sources, before=before, force=force)


def write_answer(
    name: str,
    answer: Mapping[str, Any],
    inputs: Inputs,
    *,
    folder: Path,
    sources: Sources,
    before: Stack | None = None,
    force: bool = True,
    extras: Mapping[str, str] | None = None,
) -> Written:
    """Write the stack from a pylock dict that still has addresses: a resolver's, or another tool's lock.

    ``extras`` are requirements by name, of those in ``inputs``: what they alone bring is locked as extras (PEP 751).
    Without ``force`` an environment that contradicts itself is not locked as it was found.
    """
    path = path_of(name, folder)
    packages, problems = complete(answer, inputs, sources, known=before)
    if not packages:
        pythons = ", ".join(inputs.pythons)
        raise Trouble(f"there is nothing in it for Python {pythons} on Linux", file=path, exit_code=3)
    if problems and not inputs.exact:
        raise Trouble("what was resolved is not closed: " + "; ".join(problems[:5]), file=path, exit_code=3)
    if problems and not force:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise Trouble(
            f"it contradicts itself: {problems[0]}{more}",
            file=path,
            remedy="Mend that first (envdoctor check), or lock it as it is: --force",
            exit_code=1,
        )
    if extras:
        always = [line for line in inputs.requirements if line not in extras.values()]
        packages = optional(packages, always, extras, inputs.served)
    comment = (
        f"Written by: envdoctor lock {name}\n"
        "Wheels by name, size and sha256; where they come from is the installer's business."
    )
    content = _with_date(trim.document(packages, inputs.served), comment, path, before)
    changed = before is None or path.read_text("utf-8") != content
    after = _write_lock(path, content) if changed else before
    assert after is not None
    return Written(
        stack=after,
        changed=changed,
        changes=tuple(changes(before, after)),
        origins=_origins(packages),
        problems=tuple(problems),
    )


def _with_date(lock: Mapping[str, Any], comment: str, path: Path, before: Stack | None) -> str:
    """The lock's text with the day (UTC) it was resolved: the day it became what it is, if nothing else has changed."""
    said = stack.resolved_on(before) if before else None
    if said is not None:
        as_before = text({**lock, "tool": {"envdoctor": {"resolved": said}}}, comment=comment)
        if as_before == path.read_text("utf-8"):
            return as_before
    today = datetime.now(tz=timezone.utc).date().isoformat()
    return text({**lock, "tool": {"envdoctor": {"resolved": today}}}, comment=comment)


def path_of(name: str, folder: Path) -> Path:
    """``folder/pylock.<name>.toml``. Raises `Trouble` for a name that no target could name it by."""
    if not re.fullmatch(r"[\w-]{1,100}", name):
        raise Trouble(
            f"{name!r} cannot be the name of a stack",
            remedy="Use letters, digits and dashes, and no dot: pylock.<name>.toml",
        )
    return folder / f"pylock.{name}.toml"


def complete(
    answer: Mapping[str, Any], inputs: Inputs, sources: Sources, *, known: Stack | None = None
) -> tuple[list[Resolved], list[str]]:
    """The packages of an answer with every size and dependency, and what is contradictory among them.

    What the index has not said is asked of the wheels' own addresses; sizes of files that the ``known`` lock holds by
    the same sha256 are taken from there. Raises `Trouble` where an interpreter would find no wheel.
    """
    packages = trim.read(answer, inputs.served)
    for (python, machine), why in trim.uncovered_places(packages, inputs.served).items():
        raise Trouble(
            f"{why} for Python {python} on {machine}",
            remedy="Serve fewer Pythons or machines, or choose another version.",
            exit_code=3,
        )
    remote = Remote(sources)
    sizes = _sizes(known)
    wheels = [wheel for package in packages for wheel in package.wheels]
    asked = each(remote.size, [w.address for w in wheels if (w.size or sizes.get(w.sha256)) is None])
    told = each(remote.metadata, [package.wheels[0].address for package in packages])
    whole = [
        replace(
            package,
            wheels=tuple(replace(w, size=w.size or sizes.get(w.sha256) or asked[w.address]) for w in package.wheels),
            requires=requires_in(told[package.wheels[0].address]),
        )
        for package in packages
    ]
    return connect(whole, inputs.requirements, inputs.served)


def _sizes(known: Stack | None) -> dict[str, int]:
    wheels = [wheel for package in known.lock.packages for wheel in package.wheels or ()] if known else []
    return {wheel.hashes["sha256"]: wheel.size for wheel in wheels if wheel.size}


def _origins(packages: Iterable[Resolved]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for package in packages:
        for wheel in package.wheels:
            host = urlsplit(wheel.address).hostname or "files on this machine"
            counted[host] = counted.get(host, 0) + 1
    return dict(sorted(counted.items()))


def _write_lock(path: Path, content: str) -> Stack:
    """Put the text into place in one step; it must load and lint first."""
    make_folder(path.parent)
    with temporary.folder(beside=path.parent) as folder:
        draft = folder / path.name
        draft.write_text(content, "utf-8")
        for flaw in lint(draft):
            if flaw.fatal:
                raise Trouble(f"the new lock is not sound: {flaw.problem}", file=path, where=flaw.where, exit_code=3)
        os.replace(draft, path)
    return stack.load(path)


def changes(before: Stack | None, after: Stack) -> list[str]:
    """What differs between two locks, in words, by package name."""
    old, new = (_versions(one) for one in (before, after))
    words = []
    for name in sorted({*old, *new}):
        if name not in new:
            words.append(f"- {name} {', '.join(old[name])}")
        elif name not in old:
            words.append(f"+ {name} {', '.join(new[name])}")
        elif old[name] != new[name]:
            words.append(f"{name} {', '.join(old[name])} -> {', '.join(new[name])}")
    return words


def _versions(one: Stack | None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for package in one.lock.packages if one else ():
        found.setdefault(str(package.name), []).append(str(package.version))
    return found


def digests(one: Stack, served: Sequence[Interpreter]) -> tuple[set[str], set[str]]:
    """The identities of the pins that the lock gives to each of the interpreters: of all, and of what training runs."""
    chosen = [stack.select(one, interpreter) for interpreter in served]
    pins = [some for some in chosen if isinstance(some, tuple)]
    return {stack.digest(some) for some in pins}, {stack.training_digest(some) for some in pins}
