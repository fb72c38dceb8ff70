"""Many machines: what they have in common, and which one is the odd one out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from envdoctor.facts import Driver, Facts, Gpus, Host, Interpreter, Packages, Torch
from envdoctor.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Oddity:
    """One thing in which machines differ from what most of them have."""

    subject: str
    usual: str
    odd: Mapping[str, str]  # machine -> its own value


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    machines: tuple[str, ...]
    oddities: tuple[Oddity, ...]
    odd_one_out: str | None  # the machine with by far the most differences of its own


MISSING = "missing"


def compare(fleet: Mapping[str, Facts]) -> Comparison:
    """Compare machines by their facts. Pure; the order of machines does not matter to the result."""
    values = {name: dict(_values(facts)) for name, facts in fleet.items()}
    subjects = sorted({subject for found in values.values() for subject in found})
    oddities = []
    alone: Counter[str] = Counter()
    for subject in subjects:
        present = {name: found[subject] for name, found in sorted(values.items()) if subject in found}
        if subject.startswith("package "):
            # Absence is a difference only where the packages could be read at all.
            read = [name for name in sorted(values) if isinstance(fleet[name].packages, Packages)]
            present = {name: values[name].get(subject, MISSING) for name in read}
        counts = Counter(present.values())
        if len(counts) < 2:
            continue
        usual = max(sorted(counts), key=lambda value: counts[value])
        odd = {name: value for name, value in present.items() if value != usual}
        oddities.append(Oddity(subject=subject, usual=usual, odd=odd))
        if len(odd) == 1 and len(present) > 2:  # of two machines, neither is the odd one
            alone.update(odd.keys())
    return Comparison(machines=tuple(sorted(fleet)), oddities=tuple(oddities), odd_one_out=_standing_out(alone))


def _standing_out(alone: Counter[str]) -> str | None:
    """The machine alone with its values at least twice as often as any other."""
    (first, most), *rest = [*alone.most_common(2), ("", 0)]
    return first if most and most >= 2 * max((count for _, count in rest), default=0) else None


def _values(facts: Facts) -> Iterator[tuple[str, str]]:
    """What machines of one fleet should share, as text. Readings that always differ (clocks, load) are left out."""
    if isinstance(facts.interpreter, Interpreter):
        yield "python", facts.interpreter.version
    if isinstance(facts.packages, Packages):
        yield from ((f"package {d.name}", d.version) for d in facts.packages.distributions)
    if isinstance(facts.torch, Torch):
        yield "torch CUDA", facts.torch.cuda or "none"
        yield from ((f"flag {name}", flag.value or "unreadable") for name, flag in facts.torch.flags.items())
    if isinstance(facts.driver, Driver):
        yield "driver", facts.driver.kernel_module or "none"
    if isinstance(facts.gpus, Gpus):
        yield "GPUs", str(facts.gpus.count if facts.gpus.count is not None else len(facts.gpus.devices))
        names = Counter(gpu.name for gpu in facts.gpus.devices)
        yield "GPU models", ", ".join(f"{count} x {name}" for name, count in sorted(names.items())) or "none"
        limits = {gpu.power_limit for gpu in facts.gpus.devices if gpu.power_limit is not None}
        if limits:
            yield "lowest power limit", f"{min(limits):.0f} W"
    if isinstance(facts.host, Host):
        host = facts.host
        for subject, value in (
            ("kernel", host.kernel),
            ("CPU model", host.cpu_model),
            ("CPUs", host.cpus),
            ("CPU quota", host.cpu_quota),
            ("/dev/shm", host.shm),
            ("open files", host.files_soft),
        ):
            if value is not None:
                yield subject, str(value)
    if isinstance(facts.variables, Mapping):
        yield from ((f"variable {name}", value) for name, value in facts.variables.items())
