"""Why is it slow? Suspects, each with the variant of the run in which it is mended; and what trying them showed.

One at a time: every suspect is timed with it alone taken away, interleaved with runs as they are, by the statistic of
every other verdict (medians of windows in fresh processes, Student's interval). What was not tried, and why not, is
part of the answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envdoctor.facts.model import Facts
from envdoctor.locks.target import Target
from envdoctor.speed.ablation.ablation import Ablation, VariantRow, evaluate
from envdoctor.speed.ablation.interleaving import Variant
from envdoctor.speed.evidence import differences
from envdoctor.speed.evidence.evidence import Cause
from envdoctor.speed.evidence.pressure import NOTICED, highest_pressure
from envdoctor.speed.evidence.relation import mapping
from envdoctor.speed.evidence.trained_gpu import trained_gpu
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Device, Report

AS_IT_IS = Variant(name="as it is", why="nothing changed")
LEAST_GAIN = math.log(1.03)
"""Mending a suspect must bring this much before it is named: the verdict itself calls nothing below 3 % slower."""
WAIT = 0.02
"""Share of a step, beyond the baseline's own, from which waiting for data is tried as a suspect."""
MOST_VARIABLES = 5
"""Variables tried one by one; more are tried together."""

REACHES = (
    "OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_", "BLIS_", "DNNL_", "ONEDNN_", "ATEN_", "TORCH", "PYTORCH_", "CUDA_",
    "CUBLAS", "CUDNN_", "NVIDIA_TF32", "NCCL_", "MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD", "LD_BIND_NOW",
    "PYTHONMALLOC", "PYTHONDEVMODE", "PYTHONTRACEMALLOC", "PYTHONFAULTHANDLER", "PYTHONPROFILEIMPORTTIME",
    "TOKENIZERS_", "TRANSFORMERS_", "ACCELERATE_",
)  # fmt: skip
"""Beginnings of the names of variables that torch, its libraries, Python's allocator or the loader read."""
HARMLESS = ("CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_VERSION", "TORCH_HOME", "TORCH_CUDA_ARCH_LIST")
# Settings of the trainer that an order may carry as the baseline recorded them.
ORDERED = ("attention", "compile", "head", "packing", "precision", "prefetch", "pretokenize", "recompute", "threads")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """``mended``: the run without it. ``unset``: variables of the caller that are taken away for it."""

    cause: Cause
    what: str
    remedy: str
    mended: Variant
    unset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectAblation:
    """What was tried and found. ``cause`` None: nothing that was tried explains it."""

    rows: tuple[tuple[Suspect, VariantRow], ...] = ()
    untried: tuple[str, ...] = ()
    cause: Cause | None = None
    suspect: Suspect | None = None
    sentence: str = ""
    reports: Mapping[str, Sequence[Report]] = field(default_factory=dict)

    @property
    def gain(self) -> float | None:
        """Speed with the cause mended over speed as it is."""
        return next((row.ratio for suspect, row in self.rows if suspect is self.suspect), None)


def suspects(
    verdict: Verdict, target: Target | None, variables: Mapping[str, str], clean: Path | None = None
) -> tuple[tuple[Suspect, ...], tuple[str, ...]]:
    """What could slow this run down, and is worth timing; and, in words, what is not suspected and why.

    ``variables``: the caller's. ``clean``: an environment with the stack as locked, to try versions with.
    """
    report, baseline = verdict.reports[0], verdict.baseline
    found = [*_variables(variables)]
    untried: list[str] = []
    if not found:
        untried.append("settings: no variable is set that torch, its libraries or Python's allocator read")
    settings = _settings(report, mapping(baseline.conditions, "settings") if baseline else {})
    if settings:
        said = ", ".join(f"{name} {old} (the baseline: {new})" for name, (old, new) in settings.items())
        changed = Variant(name="the baseline's settings", settings={name: new for name, (_, new) in settings.items()})
        remedy = "Set them as the baseline has them, or leave them out."
        found.append(Suspect(cause="settings", what=said, remedy=remedy, mended=changed))
    usual = differences.usual_wait(baseline) if baseline else 0.0
    waits = verdict.breakdown.shares["data"]
    if waits - usual > WAIT:
        what = f"waiting for data ({waits:.0%} of a step)"
        ahead = Variant(name="data prepared ahead", settings={"prefetch": 2, "pretokenize": True})
        remedy = "Prepare the data before training, or ahead in a thread: --prefetch 2; look at the disk it lies on."
        found.append(Suspect(cause="data", what=what, remedy=remedy, mended=ahead))
    else:
        untried.append(f"data: a step waits {waits:.1%} of its time for it")
    packages = differences.differing_packages(report, baseline, target) if baseline else []
    if packages and clean is not None:
        what = f"other versions than the baseline's: {', '.join(packages)}"
        locked = Variant(name="the locked stack", environment=clean)
        found.append(Suspect(cause="stack", what=what, remedy="Install them: envdoctor fix", mended=locked))
    elif packages:
        untried.append(f"stack: {', '.join(packages)}; mend it and measure again: envdoctor fix")
    else:
        untried.append("stack: the versions that decide speed are the baseline's")
    return tuple(found), tuple(untried)


def _variables(variables: Mapping[str, str]) -> list[Suspect]:
    names = sorted(name for name in variables if name.startswith(REACHES) and name not in HARMLESS)
    single, rest = names[:MOST_VARIABLES], names[MOST_VARIABLES:]
    groups = [(name,) for name in single] + ([tuple(rest)] if rest else [])
    return [
        Suspect(
            cause="settings",
            what=", ".join(f"{name}={variables[name]}" for name in group),
            remedy=f"Unset {'it' if len(group) == 1 else 'them'}: unset {' '.join(group)}",
            mended=Variant(name=f"without {', '.join(group)}"),
            unset=group,
        )
        for group in groups
    ]


def _settings(report: Report, theirs: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    ours = differences.speed_settings(report)
    return {
        name: (ours[name], theirs[name])
        for name in ORDERED
        if name in ours and name in theirs and str(ours[name]) != str(theirs[name])
    }


def conclude(
    found: Sequence[Suspect],
    untried: Sequence[str],
    reports: Mapping[str, Sequence[Report]],
    verdict: Verdict,
    facts: Facts | None = None,
) -> SuspectAblation:
    """Name the suspect whose absence makes the run faster, beyond noise and by 3 %; else the machine, else nothing.

    ``reports``: by variant name, `AS_IT_IS` among them. Raises ValueError when that one has no complete runs.
    """
    if not found:
        cause, sentence = _of_machine(verdict, facts)
        return SuspectAblation(untried=tuple(untried), cause=cause, sentence=sentence)
    table: Ablation = evaluate([AS_IT_IS, *(suspect.mended for suspect in found)], reports)
    by_name = {row.variant.name: row for row in table.rows}
    rows = tuple((suspect, by_name[suspect.mended.name]) for suspect in found)
    guilty = [
        (row.ratio, suspect, row)
        for suspect, row in rows
        if row.word == "faster" and row.ratio is not None and math.log(row.ratio) > LEAST_GAIN
    ]
    if guilty:
        ratio, suspect, row = max(guilty, key=lambda item: item[0])
        assert row.interval is not None
        low, high = row.interval
        sentence = f"without {suspect.what} the same work runs {ratio:.2f}x as fast [{low:.2f}, {high:.2f}]"
        return SuspectAblation(
            rows=rows, untried=tuple(untried), cause=suspect.cause, suspect=suspect, sentence=sentence, reports=reports
        )
    cause, sentence = _of_machine(verdict, facts)
    if table.disturbed * 2 > table.runs:
        cause, sentence = "contention", f"{table.disturbed} of {table.runs} runs had to wait for a CPU core"
    return SuspectAblation(rows=rows, untried=tuple(untried), cause=cause, sentence=sentence, reports=reports)


def _of_machine(verdict: Verdict, facts: Facts | None) -> tuple[Cause | None, str]:
    """What is left when nothing that a person can change explains it: the machine by its probes, or its neighbours."""
    machine = verdict.machine
    if machine is not None and machine.known and machine.log_factor < -LEAST_GAIN:
        slowest = min(machine.ratios, key=lambda name: machine.ratios[name])
        clock = _clock(facts, verdict.reports[0].device)
        return "machine", (
            f"nothing of yours explains it; this machine is {math.exp(machine.log_factor):.2f}x the baseline's by its "
            f"probes ({slowest} {machine.ratios[slowest]:.2f}x{clock})"
        )
    waited = highest_pressure(verdict.reports) or 0.0
    if waited > NOTICED:
        return "contention", f"nothing of yours explains it; tasks waited for a CPU core in {waited:.0%} of the time"
    return None, "nothing that was tried explains it, and neither do the machine's probes"


def _clock(facts: Facts | None, device: Device) -> str:
    gpu = trained_gpu(facts, device)
    if gpu is None:
        return ""
    return f", {gpu.sm_clock} of {gpu.sm_clock_max} MHz" if gpu.sm_clock and gpu.sm_clock_max else ""


def as_json(ablation: SuspectAblation) -> dict[str, Any]:
    """The ``why`` of ``verify --why --format json``."""
    return {
        "cause": ablation.cause,
        "sentence": ablation.sentence,
        "remedy": ablation.suspect.remedy if ablation.suspect else None,
        "tried": [
            {
                "suspect": suspect.what,
                "cause": suspect.cause,
                "mended": row.variant.name,
                "word": row.word,
                "ratio": row.ratio,
                "interval": list(row.interval) if row.interval else None,
                "rounds": row.rounds,
                "remark": row.remark,
                "windows": [list(report.rates) for report in ablation.reports.get(row.variant.name, ())],
            }
            for suspect, row in ablation.rows
        ],
        "not_tried": list(ablation.untried),
    }
