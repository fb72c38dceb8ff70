"""What a measured run ran with, beside what the target asks for: versions by the lock, torch's flags by the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.utils import canonicalize_name

from envdoctor.errors import Trouble
from envdoctor.knowledge import versions
from envdoctor.launch import hook
from envdoctor.locks.target import Target
from envdoctor.speed.measured_run.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class RanWith:
    """One version or flag. ``wanted`` is None where lock and target say nothing about it."""

    name: str
    ran: str
    wanted: str | None = None
    differs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """``stack`` is None where the target has no lock for this machine; ``why`` then says why."""

    target: str
    stack: str | None = None
    why: str = ""
    packages: tuple[RanWith, ...] = ()
    flags: tuple[RanWith, ...] = ()

    @property
    def different(self) -> tuple[RanWith, ...]:
        return tuple(line for line in (*self.packages, *self.flags) if line.differs)


def agreement(records: Sequence[Record], target: Target) -> Agreement:
    """Compare what the processes of one command said of themselves with the target.

    A version or flag in which the processes differ from each other is shown as it was in the first that differs from
    the target. Only packages that the program imported are compared: others took no part in its speed.
    """
    pins = {canonicalize_name(pin.name): pin.version for pin in target.choice.pins} if target.choice else {}
    cuda = target.choice.cuda if target.choice else None
    packages: dict[str, RanWith] = {}
    flags: dict[str, RanWith] = {}
    wanted_flags = _typed_flags(target.flags)
    for record in records:
        for name, version in sorted(record.versions.items()):
            locked = pins.get(canonicalize_name(name))
            differs = locked is not None and not _same(version, locked, cuda)
            _keep(packages, RanWith(name=name, ran=version, wanted=locked, differs=differs))
        for name, value in sorted(record.flags.items()):
            wanted = wanted_flags.get(name)
            differs = wanted is not None and value != wanted
            _keep(flags, RanWith(name=name, ran=_text(value), wanted=_text(wanted) if wanted is not None else None,
                              differs=differs))  # fmt: skip
    return Agreement(
        target=target.name,
        stack=target.choice.stack if target.choice else None,
        why="" if target.choice else target.no_choice or "no stack was chosen for this machine",
        packages=tuple(packages.values()),
        flags=tuple(flags.values()),
    )


def sentences(found: Agreement) -> tuple[str, ...]:
    """For a person: the versions first, then every difference on a line of its own."""
    main = [line for line in found.packages if line.name in ("torch", "transformers", "accelerate", "trl", "lightning")]
    ran = ", ".join(f"{line.name} {line.ran}" for line in sorted(main, key=lambda line: line.name != "torch"))
    if found.stack is None:
        return (f"ran with {ran}; compared with no lock: {found.why}",)
    different = found.different
    locked = sum(line.wanted is not None for line in found.packages)
    if not different:
        also = f", flags as target {found.target}" if any(line.wanted for line in found.flags) else ""
        return (f"ran with {ran}; what it imported of stack {found.stack} ({locked}) is as locked{also}",)
    said = [f"ran with {ran}; not as target {found.target}, stack {found.stack}:"]
    packages = {line.name for line in found.packages}
    for line in different:
        where = "the lock has" if line.name in packages else "the target sets"
        said.append(f"  {line.name} {line.ran}, {where} {line.wanted}")
    return tuple(said)


def as_json(found: Agreement) -> dict[str, Any]:
    """For machines: every version and flag with what was wanted."""

    def rows(lines: Sequence[RanWith]) -> list[dict[str, Any]]:
        return [{"name": x.name, "ran": x.ran, "wanted": x.wanted, "differs": x.differs} for x in lines]

    return {
        "target": found.target,
        "stack": found.stack,
        "why": found.why,
        "packages": rows(found.packages),
        "flags": rows(found.flags),
    }


def _keep(lines: dict[str, RanWith], line: RanWith) -> None:
    if line.name not in lines or (line.differs and not lines[line.name].differs):
        lines[line.name] = line


def _same(ran: str, locked: str, cuda: str | None) -> bool:
    """Wheels of the CUDA stacks may carry their label in torch.__version__ alone, not in the lock."""
    implied = f"{locked}+cu{cuda.replace('.', '')}" if cuda and not versions.label(locked) else locked
    return versions.same(ran, locked) or versions.same(ran, implied)


def _typed_flags(flags: Mapping[str, str]) -> dict[str, Any]:
    try:
        return hook.typed_flags(flags)
    except Trouble:  # a flag of another version's table: the run itself has already said so
        return {}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    return str(value.get("error", value)) if isinstance(value, dict) else str(value)
