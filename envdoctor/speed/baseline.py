"""Recording a baseline from fresh processes, and writing it into the target's file without touching the rest of it."""

from __future__ import annotations

import os
import re
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from envdoctor.document import read_text
from envdoctor.errors import Trouble
from envdoctor.facts import Facts, Unavailable
from envdoctor.speed import breakdown, conditions, probes, roofline
from envdoctor.speed import statistics as speeds
from envdoctor.speed.attribution import SPEED_PACKAGES, speed_settings
from envdoctor.speed.report import Report
from envdoctor.target import Baseline, Target, load

DIGITS = 4  # significant; the windows of one process differ in the third


def record(
    reports: Sequence[Report],
    target: Target,
    stack: str,
    *,
    facts: Facts | None = None,
    lock: str | None = None,
    date: str = "",
    command: str = "",
) -> Baseline:
    """A measured baseline of N fresh processes: raw windows, probes, and the conditions they hold under.

    ``lock``: digest of the pins installed (default: the target's choice). ``date``: ISO 8601, ``command``: what
    measured it. Raises `Trouble` when the runs may not become a baseline: too few, of different things, disturbed, or
    faster than the chip can be.
    """
    least = speeds.FEWEST_BASELINE_PROCESSES
    if len(reports) < least:
        raise _refused(f"{len(reports)} processes; a baseline needs at least {least}, and 10 to be sharp")
    first = reports[0]
    for report in reports[1:]:
        for what, ours, theirs in _identity(first, report):
            if ours != theirs:
                raise _refused(f"the runs are of different things: {what} {ours} and {theirs}")
    runs = [speeds.process(report.rates, [w.seconds for w in report.windows]) for report in reports if report.windows]
    obstacles = [*conditions.of_reports(reports, runs), *conditions.of_facts(facts, first.device.type, None)]
    if obstacles:
        raise _refused(f"a disturbed run makes no baseline: {obstacles[0].text}")
    digest = lock if lock is not None else (target.choice.digest if target.choice else None)
    baseline = Baseline(
        workload=first.workload or "",
        stack=stack,
        evidence="measured",
        lock=digest,
        gpu=device_name(first),
        windows=tuple(tuple(_short(rate) for rate in report.rates) for report in reports),
        probes=tuple(
            {name: _short(speed) for name, speed in probes.flat(report.reference_probes).items()} for report in reports
        ),
        conditions=_conditions(reports, facts, date),
        source=command,
    )
    if refused := roofline.refuse_impossible(baseline):
        raise _refused(f"the measured speed is impossible: {refused.arithmetic}")
    return baseline


def device_name(report: Report) -> str:
    """The GPU's name, or the CPU's with the number of cores the run could use."""
    if report.device.type != "cpu":
        return report.device.name
    return f"{report.device.cpu_model or report.device.name}, {report.device.cores or report.device.threads} cores"


def _refused(problem: str) -> Trouble:
    return Trouble(problem, remedy="Measure again on a quiet machine: envdoctor baseline record.", exit_code=3)


def _identity(first: Report, other: Report) -> list[tuple[str, object, object]]:
    return [
        ("workload", first.workload, other.workload),
        ("task", first.task, other.task),
        ("device", device_name(first), device_name(other)),
        ("torch", first.versions.get("torch"), other.versions.get("torch")),
        ("settings", speed_settings(first), speed_settings(other)),
    ]


def _conditions(reports: Sequence[Report], facts: Facts | None, date: str) -> dict[str, Any]:
    """What must be alike for the baseline to be judged by, and what explains it when it is not."""
    first = reports[0]
    spent = breakdown.of_windows([window for report in reports for window in report.windows])
    pressures = [share for report in reports if (share := conditions.pressure(report)) is not None]
    found: dict[str, Any] = {
        "date": date,
        "device": first.device.type,
        "cpu_model": first.device.cpu_model,
        "cores": first.device.cores,
        "threads": first.device.threads,
        "precision": first.precision,
        "tokens_per_step": _short(first.tokens_per_step.get("real", 0.0)),
        "flops_per_step": _short(first.model.flops_per_step),
        "pressure": _short(statistics.median(pressures)) if pressures else None,
        "versions": {name: first.versions[name] for name in SPEED_PACKAGES if first.versions.get(name)},
        "settings": speed_settings(first),
        "breakdown": {part: round(share, 4) for part, share in spent.shares.items()},
    }
    if facts is not None and first.device.type != "cpu" and not isinstance(facts.gpus, Unavailable):
        for gpu in facts.gpus.devices[:1]:
            found |= {
                "identity": gpu.identity,
                "power_limit": gpu.power_limit,
                "sm_clock": gpu.sm_clock,
                "sm_clock_max": gpu.sm_clock_max,
            }
        if not isinstance(facts.driver, Unavailable):
            found["driver"] = facts.driver.kernel_module
    return {name: value for name, value in found.items() if value not in (None, "", {})}


def _short(number: float | None) -> Any:
    return None if number is None else float(f"{number:.{DIGITS}g}")


def write(baseline: Baseline, path: Path) -> None:
    """Put the baseline into the target file: replace the one of its workload and stack, or append it.

    Every other line of the file, comments included, stays as it is. The file is replaced whole or not at all. Raises
    `Trouble` when it cannot be read or written, or when the rest of it would change.
    """
    before = load(path)
    same = [(old.workload, old.stack) == (baseline.workload, baseline.stack) for old in before.baselines]
    text = replace_tables(read_text(path), baseline, same)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            fresh = Path(folder) / path.name
            with fresh.open("w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            kept = tuple(old for old, replaced in zip(before.baselines, same, strict=True) if not replaced)
            if not _only_baselines_differ(before, kept, fresh):
                raise Trouble(
                    "the baseline cannot be put in without changing other lines",
                    file=path,
                    remedy="Move multi-line texts out of the file, or paste the table by hand.",
                )
            fresh.chmod(path.stat().st_mode & 0o777)
            os.replace(fresh, path)
    except OSError as error:
        raise Trouble(error.strerror or str(error), file=path, remedy="Check the folder's permissions.") from error


def _only_baselines_differ(before: Target, kept: tuple[Baseline, ...], fresh: Path) -> bool:
    try:
        after = load(fresh)
    except Trouble:
        return False
    same_rest = replace(after, path=before.path, baselines=()) == replace(before, baselines=())
    return same_rest and after.baselines[:-1] == kept


def replace_tables(text: str, baseline: Baseline, replaced: Sequence[bool]) -> str:
    """The target file's text with this baseline at its end; ``replaced`` says which of its [[baseline]] tables go."""
    gone = iter(replaced)
    kept = "".join(block for block in _blocks(text) if not (_is_baseline(block) and next(gone, False)))
    return kept.rstrip("\n") + "\n\n" + as_toml(baseline)


def _blocks(text: str) -> list[str]:
    """The text cut before each top-level table header; a [[baseline]] keeps its own sub-tables ([baseline.conditions]).

    Comments and blank lines right above a header belong to the block that follows.
    """
    blocks: list[list[str]] = [[]]
    for line in text.splitlines(keepends=True):
        header = re.match(r"\[\[?\s*([\w-]+)", line)
        if header and not re.match(r"\[\[?\s*baseline\s*\.", line):
            above: list[str] = []
            while blocks[-1] and re.match(r"\s*(#|$)", blocks[-1][-1]):
                above.insert(0, blocks[-1].pop())
            blocks.append(above)
        blocks[-1].append(line)
    return ["".join(block) for block in blocks]


def _is_baseline(block: str) -> bool:
    return re.search(r"^\[\[\s*baseline\s*\]\]", block, re.MULTILINE) is not None


def as_toml(baseline: Baseline) -> str:
    """One [[baseline]] table: a row of windows per process, inline probes and conditions, so that it stays short."""
    lines = ["[[baseline]]"]
    for name in ("workload", "stack", "evidence", "lock", "gpu", "steps_per_second", "source"):
        value = getattr(baseline, name)
        if value not in (None, ""):
            lines.append(f"{name} = {_inline(value)}")
    for name in ("windows", "probes"):
        rows = getattr(baseline, name)
        if rows:
            lines += [f"{name} = [", *(f"    {_inline(row)}," for row in rows), "]"]
    if baseline.conditions:
        lines.append("[baseline.conditions]")
        lines += [f"{_bare(str(name))} = {_inline(value)}" for name, value in baseline.conditions.items()]
    return "\n".join(lines) + "\n"


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{_bare(str(key))} = {_inline(member)}" for key, member in value.items() if member is not None
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_inline(member) for member in value) + "]"
    return tomli_w.dumps({"v": value}).partition("=")[2].strip()


def _bare(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else tomli_w.dumps({key: 0}).rpartition(" = ")[0]
