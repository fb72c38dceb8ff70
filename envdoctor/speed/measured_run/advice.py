"""What holds a measured run back, and what to write instead: from its record alone, without a baseline.

Each adviser looks at one loss and yields advice only when that loss is worth a person's time; a healthy run gets none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from envdoctor.facts.model import Facts
from envdoctor.knowledge import gpus, versions
from envdoctor.speed import breakdown
from envdoctor.speed.breakdown import DATA_WAIT_LIMIT, Breakdown
from envdoctor.speed.evidence.evidence import Cause
from envdoctor.speed.evidence.pressure import PRESSURE_LIMIT, pressure_of
from envdoctor.speed.measured_run import agreement, remedies
from envdoctor.speed.measured_run.agreement import Agreement
from envdoctor.speed.measured_run.record import Loader, Record, SourceLine, as_report, slowest, team_of
from envdoctor.speed.outcome import Verdict, as_json
from envdoctor.speed.report import Report
from envdoctor.speed.verdict import judge

OUTSIDE_LIMIT = 0.25
"""Share of the time outside data, forward, backward and optimizer beyond which it is named; logging needs far less."""
PADDING_LIMIT = 0.30
"""Share of token slots that hold padding; sorting by length brings most data sets below a tenth."""
FUSED_SAVES: Mapping[str, Mapping[str, float]] = {
    "cpu": {"AdamW": 0.65, "Adam": 0.55, "SGD": 0.2},
    "cuda": {"AdamW": 0.3, "Adam": 0.3},
}
"""Share of an optimizer's time that its fused form saves. CPU: `python -m tests.benchmarks.fused_optimizer` (AdamW 3
to 5 times as fast, Adam 2 to 4, SGD 1.3 to 1.6). CUDA: not measured, a guess."""
FUSED_ON_CPU = "2.4"  # the release of torch that brought fused optimizers for CPUs, by its release notes
LEAST_SAVED = 0.08  # of the time, by another form of the optimizer
MOST_PROCESSES = 8  # that have a line of their own
FEWEST_STEPS = 20
"""Steps below which shares are not judged: caches and first-use costs rule."""
FEWEST_SECONDS = 1.0
"""Seconds of steady windows below which nothing is advised: starting workers alone takes some tenths."""
HANDOVER = 0.8e-3
"""Seconds that a worker process takes to hand a batch over; `ablate --claims`, about num_workers, has it measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One thing to change. ``saves``: share of the time that it can save at most; ``lines``: what to write."""

    cause: Cause
    text: str
    saves: float
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """A run of the user's own: what it came to, and the advice, most worth first.

    ``verdict`` compares only with the user's own earlier runs; without them its headline is the cure. ``remarks``:
    what else is to be said of the run. ``healthy``: it was long enough, and nothing was found.
    """

    verdict: Verdict
    advice: tuple[Advice, ...] = ()
    remarks: tuple[str, ...] = ()
    healthy: bool = False
    records: tuple[Record, ...] = ()
    agreement: Agreement | None = None  # with the target's lock and flags; None when no target was given


def diagnose_run(records: Sequence[Record], facts: Facts | None = None, agreed: Agreement | None = None) -> MeasuredRun:
    """Judge the records of one command (one per training process). Raises ValueError without a record."""
    if not records:
        raise ValueError("nothing was recorded")
    record = slowest(records)
    report = as_report(record, team_of(record, records))
    spent = breakdown.of_windows(report.windows)
    enough = record.steps >= FEWEST_STEPS and spent.seconds >= FEWEST_SECONDS
    advice = [one for adviser in ADVISERS for one in adviser(record, spent)] if enough else []
    advice.sort(key=lambda one: -one.saves)
    headline = advice[0].text if advice else _nothing_to_say(record, spent, enough=enough, waited=_share_waited(report))
    remarks = tuple(_remarks(record, report))
    verdict = replace(
        judge([report], None, facts=facts),
        workload=record.program,
        cause=advice[0].cause if advice else None,
        headline=headline[:1].upper() + headline[1:],
        reasons=("there is no baseline for a program of your own", *(one.text for one in advice), *remarks)
        if advice
        else ("there is no baseline for a program of your own", headline, *remarks),
    )
    return MeasuredRun(
        verdict=verdict,
        advice=tuple(advice),
        remarks=remarks,
        healthy=enough and not advice,
        records=tuple(records),
        agreement=agreed,
    )


def _remarks(record: Record, report: Report) -> Iterator[str]:
    yield from _without_effect(record)
    if record.ended == "stopped":
        yield f"ended after {record.steps} steps, as asked by --stop-after"
    if waited := _share_waited(report):
        yield f"tasks waited for a CPU core in {min(waited, 1.0):.0%} of the time: other work ran beside the training"
    if record.error:
        yield f"the measuring ended early: {record.error}"


def _share_waited(report: Report) -> float:
    """The share of the time in which tasks waited for a CPU core, 0 where that is no more than usual."""
    waited = pressure_of(report)
    return waited if waited is not None and waited > PRESSURE_LIMIT.get(report.device.type, 0.25) else 0.0


def run_json(run: MeasuredRun) -> dict[str, Any]:
    """The object of `verify --format json`, with the advice and every process's share of waiting in its conditions."""
    found = as_json(run.verdict)
    advice = [
        {"cause": one.cause, "text": one.text, "saves": round(one.saves, 4), "lines": list(one.lines)}
        for one in run.advice
    ]
    found["advice"] = found["conditions"]["advice"] = advice
    if not run.advice:  # the general words about the largest share would be advice, too
        found["conditions"]["diagnosis"] = run.verdict.headline
    found["conditions"]["ranks"] = [
        {
            "rank": record.rank,
            "steps": record.steps,
            "data": round(breakdown.of_windows(record.steady_windows).shares["data"], 4),
            "timed_steps": list(record.timed_steps),
            "timed_seconds": round(sum(window.seconds for window in record.steady_windows), 6),
            "ended": record.ended,
        }
        for record in run.records
    ]
    if run.agreement is not None:
        found["conditions"]["ran_with"] = agreement.as_json(run.agreement)
    return found


def _nothing_to_say(record: Record, spent: Breakdown, *, enough: bool, waited: float) -> str:
    if not enough or not spent.known:
        return (
            f"too short to judge ({record.steps} steps, {spent.seconds:.2g} s of them timed): "
            f"{FEWEST_STEPS} steps and {FEWEST_SECONDS:.0f} s of steady training are needed"
        )
    shares = spent.shares
    work = shares["forward"] + shares["backward"] + shares["optimizer"]
    if not record.waits:
        seen = list(record.seen_lines)
        looks = sum(line.looks for line in seen) or 1
        most = "; ".join(f"{_place(line)} {line.looks / looks:.0%}" for line in seen[:3])
        return f"no DataLoader was used, so making batches counts as forward; found in: {most or 'no line'}"
    but = " but the other work on this machine" if waited else ""
    return f"{work:.0%} of the time is computation, {shares['data']:.0%} waiting for data: nothing holds it back{but}"


def _data(record: Record, spent: Breakdown) -> Iterator[Advice]:
    share = spent.shares["data"]
    if share <= DATA_WAIT_LIMIT or not record.waits:
        return
    loader = max(record.loaders, key=lambda loader: loader.length or 0) if record.loaders else Loader()
    line = next((line for line in record.seen_lines if line.part == "data"), None)
    where = f", most of it in {_place(line)}" if line else ""
    cores = max((record.device.cores or 1) // max(record.local_ranks, 1), 1)
    workers = remedies.workers_needed(share, loader.workers, cores, on_cpu=record.device.type == "cpu")
    code = [remedies.loader_line(loader, workers, record.device.type, record.driver)]
    if loader.workers == 0 and not _workers_pay(
        spent.seconds / spent.steps * record.steps / record.waits, share, workers
    ):
        again = remedies.seen_again(record, loader)
        text = (
            f"the step waits {share:.0%} of its time for data, which is made on the training thread{where}: "
            f"{'keep the examples in memory' if again else 'do it once before training'} (a worker's "
            "hand-over would take longer)"
        )
        lines = (f"{remedies.keeping_line()}  # before training",) if again else ()
        yield Advice(cause="data", text=text, saves=share, lines=lines)
        return
    if loader.workers == 0:
        once = "do it once before training"
        if remedies.seen_again(record, loader):
            once = f"keep the {loader.length:,} examples, each made {remedies.epochs(record, loader):.0f} times already"
            code = [f"{remedies.keeping_line()}  # before training", f"{code[0]}  # or this"]
        text = (
            f"the step waits {share:.0%} of its time for data, which is made on the training thread{where}: {once}, "
            "or let worker processes do it"
        )
    elif workers > loader.workers:
        text = f"the step waits {share:.0%} of its time for {loader.workers} workers{where}: use {workers}"
    else:
        text = (
            f"the step waits {share:.0%} of its time for data{where}; {loader.workers} workers on {cores} cores cannot "
            "do more: do the work once before training"
        )
    yield Advice(cause="data", text=text, saves=share, lines=tuple(code) if workers > loader.workers else ())


def _workers_pay(seconds: float, share: float, workers: int) -> bool:
    """Is a batch, of so many seconds, through sooner where so many workers make it and hand it over meanwhile?"""
    return max((1 - share) * seconds, (share * seconds + HANDOVER) / workers) < seconds


def _threads(record: Record, spent: Breakdown) -> Iterator[Advice]:
    """CPU training with a wrong number of threads; on a GPU the threads of torch hardly matter."""
    threads, cores = record.device.threads, record.device.cores
    if record.device.type != "cpu" or not threads or not cores:
        return
    fair = max(cores // max(record.local_ranks, 1), 1)
    workers = max((loader.workers for loader in record.loaders), default=0)
    free = max(fair - workers, 1)
    computing = spent.shares["forward"] + spent.shares["backward"] + spent.shares["optimizer"]
    if threads < free and computing > 0.5:
        why = "OMP_NUM_THREADS" if "OMP_NUM_THREADS" in record.variables else "torch.set_num_threads"
        yield Advice(
            cause="settings",
            text=f"torch computes with {threads} of {free} free cores ({why})",
            saves=computing * (1.0 - threads / free),
            lines=(f"export OMP_NUM_THREADS={free}",),
        )
    elif threads > fair:
        yield Advice(
            cause="settings",
            text=f"torch computes with {threads} threads on {fair} cores: every operator waits for the slowest",
            saves=computing * (1.0 - fair / threads),
            lines=(f"export OMP_NUM_THREADS={fair}",),
        )


def _number_format(record: Record, spent: Breakdown) -> Iterator[Advice]:
    """Products in float32, without TF32, on a GPU that has far more speed in other formats."""
    of_all, capability = sum(record.products.values()), record.device.capability
    if record.device.type != "cuda" or not capability or record.products.get("float32", 0) * 2 <= of_all:
        return
    if record.flags.get("float32-matmul-precision") != "highest" or tuple(map(int, capability.split("."))) < (7, 0):
        return
    half = "bfloat16" if int(capability.split(".")[0]) >= 8 else "float16"
    chip = gpus.board(record.device.name)
    slow, fast = (chip.peak.get("float32"), chip.peak.get(half)) if chip else (None, None)
    computing = spent.shares["forward"] + spent.shares["backward"]
    known = f": {slow:.0f} TFLOP/s at most on this card, {fast:.0f} in {half}" if slow and fast else ""
    yield Advice(
        cause="settings",
        text=f"its matrix products run in float32 without TF32{known}",
        saves=computing * (1.0 - slow / fast if slow and fast else 0.5),
        lines=remedies.number_format_lines(record.driver, half),
    )


def _optimizer(record: Record, spent: Breakdown) -> Iterator[Advice]:
    """An optimizer of torch's own that goes over its weights once for each operation, and could do it once."""
    share, device = spent.shares["optimizer"], record.device.type
    saves = share * FUSED_SAVES[device].get(record.optimizer, 0.0) if device in FUSED_SAVES else 0.0
    if record.optimizer_fused is not False or saves < LEAST_SAVED:
        return
    if device == "cpu" and not versions.at_least(record.versions.get("torch", ""), FUSED_ON_CPU):
        return
    yield Advice(
        cause="settings",
        text=f"the optimizer takes {share:.0%} of the time: its fused form goes over the weights once a step",
        saves=saves,
        lines=remedies.fused_lines(record.driver, record.optimizer),
    )


def _debugging_switches(record: Record, spent: Breakdown) -> Iterator[Advice]:
    """Switches for finding faults that were left on."""
    on_gpu = record.device.type == "cuda"
    if on_gpu and record.variables.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"):
        yield Advice(
            cause="settings",
            text="CUDA_LAUNCH_BLOCKING makes the host wait for every kernel: it is for finding faults",
            saves=0.5,
            lines=("unset CUDA_LAUNCH_BLOCKING",),
        )
    if record.anomaly_detection:
        yield Advice(
            cause="settings",
            text="torch.autograd.set_detect_anomaly is on: every backward pass is checked and traced",
            saves=spent.shares["backward"] / 2.0,
            lines=("torch.autograd.set_detect_anomaly(False)",),
        )


def _without_effect(record: Record) -> Iterator[str]:
    """Switches that cost nothing here, and would on another machine: named, and not blamed."""
    value = record.variables.get("CUDA_LAUNCH_BLOCKING", "0")
    if record.device.type == "cpu" and value not in ("", "0"):
        yield f"CUDA_LAUNCH_BLOCKING={value} is set: no effect on a CPU; on a GPU the host waits for every kernel"


def processes(run: MeasuredRun) -> tuple[str, ...]:
    """A line for each training process where there are several; the slowest few of many."""
    records = run.records
    if len(records) < 2:
        return ()
    head = f"{len(records)} training processes; the one that waits longest for data is shown:"
    said = []
    for record in records:
        spent = breakdown.of_windows(record.steady_windows)
        rate = f"{spent.steps / spent.seconds:.3g} it/s" if spent.seconds else "not timed"
        who = f"rank {record.rank}" if record.rank is not None else f"process {record.pid}"
        said.append((spent.shares["data"], f"  {who}: {record.steps} steps, {rate}, data {spent.shares['data']:.0%}"))
    if len(said) > MOST_PROCESSES:
        said.sort(key=lambda line: -line[0])
        left = len(said) - MOST_PROCESSES
        return (head, *(text for _, text in said[:MOST_PROCESSES]), f"  {left} more, which wait less for data")
    return (head, *(text for _, text in said))


def _padding_waste(record: Record, spent: Breakdown) -> Iterator[Advice]:
    slots, real = record.batches.get("slots", 0), record.batches.get("real", 0)
    if not slots or not real:
        return
    padding = 1.0 - real / slots
    if padding <= PADDING_LIMIT:
        return
    computing = spent.shares["forward"] + spent.shares["backward"]
    text = f"{padding:.0%} of the token slots in its batches are padding"
    widest, longest = record.batches.get("widest", 0), record.batches.get("longest", 0)
    if widest and record.batches.get("narrowest") == widest and longest < 0.9 * widest:
        text += (
            f": every batch is {widest} tokens wide, the longest example has {longest}: pad to the longest of a batch"
        )
        lines = remedies.fixed_width_lines(record.driver)
    else:
        text += ": pack documents, or batch by length"
        lines = remedies.padding_lines(record.driver)
    yield Advice(cause="data", text=text, saves=padding * computing, lines=lines)


def _outside(record: Record, spent: Breakdown) -> Iterator[Advice]:
    share = spent.shares["other"]
    if share <= OUTSIDE_LIMIT:
        return
    line = next((line for line in record.seen_lines if line.part == "other"), None)
    where = f", most of it in {_place(line)}" if line else ""
    yield Advice(
        cause="settings",
        text=f"{share:.0%} of the time passes between the steps' work{where}: log, evaluate and save less often",
        saves=share,
    )


def _place(line: SourceLine) -> str:
    return f"{line.file}:{line.line} ({line.function})"


ADVISERS: tuple[Callable[[Record, Breakdown], Iterator[Advice]], ...] = (
    _data,
    _threads,
    _number_format,
    _optimizer,
    _debugging_switches,
    _padding_waste,
    _outside,
)
