"""`envdoctor lock`: from requirements to a lockfile, by a resolver's answer, trimmed, closed, checked, and only then written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from envdoctor import stack
from envdoctor.errors import Trouble
from envdoctor.facts import Interpreter
from envdoctor.locking import trim
from envdoctor.locking.closure import connect, requires_in
from envdoctor.locking.inputs import Inputs
from envdoctor.locking.lint import lint
from envdoctor.locking.remote import Remote, each
from envdoctor.locking.resolver import resolve
from envdoctor.locking.trim import Resolved
from envdoctor.locking.write import text
from envdoctor.stack import Stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of a lock. ``changes`` says in words what differs from the file that was there before."""

    stack: Stack
    changed: bool
    changes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()  # contradictions inside an environment that was locked as it was found


def write_stack(
    name: str,
    inputs: Inputs,
    *,
    folder: Path,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    upgrade: bool = True,
) -> Written:
    """Resolve ``inputs`` and write ``folder/pylock.<name>.toml``; the same answer gives the same bytes.

    ``options`` are uv's own for the user's sources (``--index``, ``--find-links``, ``--cert`` ...). Without ``upgrade``
    the versions of the present lock are kept where the requirements allow it. The file is replaced in one step, after
    the new one has been read back and linted. Raises `Trouble`.
    """
    path = folder / f"pylock.{name}.toml"
    before = stack.load(path) if path.exists() else None
    options = [*inputs.options, *options]
    answer = _answer(inputs, options, env, keep=None if upgrade else before)
    packages, problems = complete(answer, inputs, options, known=before)
    if problems and not inputs.exact:
        raise Trouble("the resolver's answer is not closed: " + "; ".join(problems[:5]), file=path, exit_code=3)
    comment = f"Written by: envdoctor lock {name}\nWheels by name, size and sha256; from which index is the installer's business."
    return write(path, text(trim.document(packages, inputs.served), comment=comment), before, problems)


def _answer(
    inputs: Inputs, options: Sequence[str], env: Mapping[str, str] | None, *, keep: Stack | None
) -> Mapping[str, Any]:
    def ask(*further: str) -> Mapping[str, Any]:
        return resolve(inputs, options=[*options, *further], env=env, keep=keep)

    labels = {version.local for line in inputs.requirements for version in _pinned(line) if version.local}
    try:
        return ask()
    except Trouble as error:
        # A build with a local label ("+cu128") lies on PyTorch's own index, which uv knows by the label.
        if len(labels) != 1 or any(option.startswith("--torch-backend") for option in options):
            raise
        try:
            return ask("--torch-backend", labels.pop())
        except Trouble:
            raise error from None


def _pinned(line: str) -> list[Any]:
    from packaging.version import InvalidVersion, Version

    found = []
    for clause in Requirement(line).specifier:
        try:
            found.append(Version(clause.version))
        except InvalidVersion:
            continue
    return found


def complete(
    answer: Mapping[str, Any], inputs: Inputs, options: Sequence[str] = (), *, known: Stack | None = None
) -> tuple[list[Resolved], list[str]]:
    """The packages of a resolver's answer with every size and dependency, and what is contradictory among them.

    What the index has not said is asked of the wheels' own addresses; sizes of files that the ``known`` lock holds by
    the same sha256 are taken from there. Raises `Trouble` where an interpreter would find no wheel.
    """
    served = inputs.served
    packages = trim.read(answer, served)
    for (python, machine), why in trim.uncovered(packages, served).items():
        raise Trouble(
            f"{why} for Python {python} on {machine}",
            remedy="Serve fewer Pythons or machines, or choose another version.",
            exit_code=3,
        )
    remote = _remote(options)
    sizes = _sizes(known)
    asked = each(
        remote.size, [w.address for p in packages for w in p.wheels if (w.size or sizes.get(w.sha256)) is None]
    )
    told = each(remote.metadata, [package.wheels[0].address for package in packages])
    whole = [
        replace(
            package,
            wheels=tuple(replace(w, size=w.size or sizes.get(w.sha256) or asked[w.address]) for w in package.wheels),
            requires=requires_in(told[package.wheels[0].address]),
        )
        for package in packages
    ]
    return connect(whole, inputs.requirements, served)


def _sizes(known: Stack | None) -> dict[str, int]:
    wheels = [wheel for package in known.lock.packages for wheel in package.wheels or ()] if known else []
    return {wheel.hashes["sha256"]: wheel.size for wheel in wheels if wheel.size}


def _remote(options: Sequence[str]) -> Remote:
    pairs = list(pairwise(options))
    indexes = [value for name, value in pairs if name in ("--index", "--default-index", "--find-links", "--index-url")]
    certificates = next((value for name, value in pairs if name == "--cert"), None)
    return Remote(indexes=indexes, certificates=certificates)


def write(path: Path, content: str, before: Stack | None, problems: Sequence[str] = ()) -> Written:
    """Put the text into place in one step, unless it is there already; it must load and lint first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if before is not None and path.read_text("utf-8") == content:
        return Written(stack=before, changed=False, problems=tuple(problems))
    with tempfile.TemporaryDirectory(prefix=".lock-", dir=path.parent) as folder:
        draft = Path(folder) / path.name
        draft.write_text(content, "utf-8")
        flaws = [flaw for flaw in lint(draft) if flaw.fatal]
        if flaws:
            raise Trouble(
                f"the new lock is not sound: {flaws[0].problem}", file=path, where=flaws[0].where, exit_code=3
            )
        os.replace(draft, path)
    after = stack.load(path)
    return Written(stack=after, changed=True, changes=tuple(changes(before, after)), problems=tuple(problems))


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


def digests(one: Stack, served: Sequence[Interpreter]) -> set[str]:
    """The identities of the pins that the lock gives to each of the interpreters."""
    chosen = (stack.select(one, interpreter) for interpreter in served)
    return {stack.digest(pins) for pins in chosen if isinstance(pins, tuple)}
