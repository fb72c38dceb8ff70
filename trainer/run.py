"""One run from settings to a trained model. Each line of the report is written down as soon as it is known."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional

import torch

from trainer import (
    fitting,
    flags,
    flops,
    idle,
    loop,
    lora,
    parallel,
    reference,
    save,
    sharding,
    task,
    trackers,
    upload,
    workloads,
)
from trainer.batches import Share
from trainer.contention import Contention, peak_rss
from trainer.errors import TrainerError
from trainer.hardware import Choice, describe, peak_flops
from trainer.history import History, finite
from trainer.measure import Counts, Measurement, Stopwatch, total
from trainer.model import build
from trainer.optimizer import Stepper
from trainer.pace import meter
from trainer.progress import Progress, Reader
from trainer.protocol import Protocol
from trainer.settings import Settings
from trainer.uploading import uploading

FOREVER = 10**6  # epochs of a measured run, which ends by its windows

Report = Dict[str, Any]


def execute(
    task_name: str,
    settings: Settings,
    flag_values: Mapping[str, Any],
    protocol: Optional[Protocol],
    report: Report,
    say: Callable[[str], None],
) -> None:
    """Train, or time the training when `protocol` is given; fills `report`. TrainerError tells what stopped it."""
    workload = workloads.find(settings.workload) if settings.workload else None
    report["versions"] = versions()
    try:
        flags.apply(torch, flag_values)
    except ValueError as error:
        raise TrainerError("bad-flag", str(error), "Correct the flags of the order.") from None
    job = task.load(task_name)
    if settings.upload and not protocol:
        upload.check(settings.upload, settings.upload_compression)
    group = parallel.start(settings)
    report["processes"] = {"rank": group.rank, "world": group.world, "kind": group.kind}
    try:
        _executed(job, settings, workload, group, protocol, report, say if group.first else _silent)
    finally:
        if report["outcome"] != "failed":  # after a failure the others may never come
            group.leave()


def _executed(
    job: task.Task,
    settings: Settings,
    workload: Any,
    group: parallel.Group,
    protocol: Optional[Protocol],
    report: Report,
    say: Callable[[str], None],
) -> None:
    # The first process moves aside what resume=never means.
    mine = settings if group.first else replace(settings, resume="auto")
    prepared = group.in_turn(lambda: job.prepare(mine, workload), getattr(job, "IN_TURN", False))
    prepared.source.share = Share(group.rank, group.world)
    report["data"] = prepared.facts
    report["packing_efficiency"] = prepared.facts.get("packing_efficiency")
    trainee = build(settings, workload, group.local_world)
    with trainee.held:
        choices: List[Choice] = report.setdefault("choices", [])
        job.adapt(trainee, settings)
        steps = prepared.source.steps_in(0) * settings.epochs
        steps = min(steps, settings.max_steps or steps)
        known = {} if protocol or settings.resume == "never" else save.glance(Path(settings.output) / "checkpoints")
        settings, limit = fitting.fit(trainee, prepared, settings, group, 0 if protocol else steps, known)
        report["settled"] = fitting.as_reported(settings)
        choices += [*trainee.choices, parallel.choice(group)]
        work = flops.work_of(trainee.model)
        report.update(device=describe(trainee.device), model=_model(trainee.model))
        group.wrap(trainee.model)
        if group.world > 1:
            torch.manual_seed(settings.seed + group.rank)  # other dropout masks in every process
        stepper = Stepper(trainee.model, trainee.device, settings, half=trainee.dtype == torch.float16)
        choices.append(stepper.choice)
        settled = len(trainee.choices)  # the feed may add one while it runs
        report["flags"] = flags.read_all(torch)
        run = loop.Run(
            settings=settings, task=job, trainee=trainee, prepared=prepared, stepper=stepper, group=group, say=say,
            slots_limit=limit, history=History(settings.max_bad_steps), stopwatch=Stopwatch(trainee.device),
            total_steps=steps, epochs=FOREVER if protocol else settings.epochs,
        )  # fmt: skip
        try:
            if protocol:
                _timed(run, protocol, work, report)
            else:
                _trained(run, work, report, say)
        finally:
            choices += trainee.choices[settled:]
            report.update(
                steps=run.position.step, losses=finite(run.history.losses), grad_norms=finite(run.history.norms),
                skipped_steps=run.history.skipped, memory=report.get("memory") or _memory(trainee.device),
            )  # fmt: skip
        report["outcome"] = "interrupted" if run.interrupted else "finished"


def _trained(run: loop.Run, work: flops.Work, report: Report, say: Callable[[str], None]) -> None:
    """Training proper: resume, progress, checkpoints, the model at the end."""
    settings, folder = run.settings, Path(run.settings.output)
    partial = _resume(run, folder / "checkpoints", say)
    with uploading(run, report, say) as announce:
        run.saver = save.Saver(
            folder / "checkpoints", settings.keep_checkpoints, settings.checkpoint_blocking, announce
        )  # of which only the first process's writes
        _to_the_end(run, work, report, partial)


def _to_the_end(run: loop.Run, work: flops.Work, report: Report, partial: Any) -> None:
    settings, folder = run.settings, Path(run.settings.output)
    peak = peak_flops(run.trainee.device)
    progress: Any = Reader(settings.log_every)
    if run.group.first:
        tracker = trackers.Tracker(settings) if settings.tracker != "none" else None
        peak = peak and peak * run.group.world
        progress = Progress(folder, settings.log_every, work, peak, run.stopwatch, settings.price_per_hour, tracker)
    seen: Dict[str, Any] = {"counts": Counts(), "steps": 0}
    begun = time.perf_counter()
    try:
        loop.train(run, [progress, _first_step(report), _tally(seen)], partial)
    finally:
        progress.close()
    report["seconds"] = time.perf_counter() - begun
    _per_step(report, seen["counts"], seen["steps"], work)
    if settings.save_model and not run.interrupted:
        sharding.unshard(run.trainee.model, run.group.first)
        if run.group.first:
            _publish(run, report)


def _publish(run: loop.Run, report: Report) -> None:
    """The trained model (or its adapters) in the run folder."""
    settings, folder = run.settings, Path(run.settings.output)
    from transformers.utils.logging import disable_progress_bar

    trainee, tokenizer = run.trainee, run.prepared.tokenizer
    if trainee.adapters is not None:
        save.publish(folder / "adapter", lambda target: lora.save(trainee, target))
        report["model_path"] = str(folder / "adapter")
        if not settings.merge_lora:
            return
        lora.merge(trainee)

    def fill(target: Path) -> None:
        disable_progress_bar()
        trainee.model.save_pretrained(target)
        tokenizer.save_pretrained(target)

    save.publish(folder / "model", fill)
    report["model_path"] = str(folder / "model")


def _timed(run: loop.Run, protocol: Protocol, work: flops.Work, report: Report) -> None:
    """A measured run: probes, warm-up, windows, probes; nothing is saved."""
    contention, device = Contention(), run.trainee.device
    before = reference.probe(device) if protocol.probes else None
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)  # the probes' gigabytes are not the training's
    steady = device.type == "cpu" and protocol.probes
    measurement = Measurement(protocol, run.stopwatch, meter(device, run.trainee.dtype) if steady else None)
    begun = time.perf_counter()

    def watch(counts: Counts, _: loop.Run) -> bool:
        warm = measurement.warmup is not None
        done = measurement.after_step(counts)
        if measurement.warmup is not None and not warm:
            contention.begin(measurement.measured_since)
        return done

    measurement.start()
    loop.train(run, [_first_step(report), watch])
    now = time.perf_counter()
    report["memory"] = _memory(device)
    after = reference.probe(device) if protocol.probes else None
    whole = total(measurement.windows)
    report.update(
        seconds=now - begun, warmup=measurement.warmup, windows=measurement.windows, breakdown=whole["breakdown"],
        contention=contention.report(now),
        reference_probes={"before": before, "after": after} if protocol.probes else None,
    )  # fmt: skip
    pace = run.group.gathered(whole["seconds"] / whole["steps"] if whole["steps"] else None)[0]
    if pace and not run.interrupted:
        report["gpu_idle"] = idle.profiled(lambda n: _more(run, n), pace, device)
    tokens = whole["tokens"]
    _per_step(
        report, Counts(tokens["trained"], tokens["real"], tokens["slots"], 0, whole["squares"]), whole["steps"], work
    )
    if not measurement.windows and not run.interrupted:
        raise TrainerError(
            "too-slow-to-measure",
            "no window was complete after %.0f s" % protocol.max_seconds,
            "Raise max_seconds or take a smaller workload.",
        )


def _more(run: loop.Run, count: int) -> int:
    """Train up to `count` further steps; how many there were."""
    begun = run.position.step

    def enough(counts: Counts, current: loop.Run) -> bool:  # noqa: ARG001 - an observer's signature
        return current.position.step - begun >= count

    loop.train(run, [enough])
    return run.position.step - begun


def _resume(run: loop.Run, folder: Path, say: Callable[[str], None]) -> Any:
    if run.settings.resume == "never":
        if folder.exists() and run.group.first:
            aside = next(
                p for p in (folder.with_name("checkpoints.before-%d" % n) for n in range(1, 10**6)) if not p.exists()
            )
            os.rename(folder, aside)
            say("resume=never: the checkpoints that were in %s are now in %s" % (folder, aside))
        return None
    # Verified once, by the process that speaks; the others take its word.
    found, passed_over = run.group.gathered(save.newest(folder) if run.group.first else (None, []))[0]
    for sentence in passed_over:
        say(sentence)
    if found is None:
        return None
    state, tensors = save.read(found)
    if state["identity"] != run.prepared.identity:
        raise TrainerError(
            "other-run",
            "%s was written by a run with other data or another plan" % found,
            "Choose another output, or set resume=never.",
        )
    partial = loop.restore(run, state, tensors)
    say("continuing from %s (step %d)" % (found, run.position.step))
    return partial


def _silent(text: str) -> None:
    """What processes other than the first have to say."""


def _first_step(report: Report) -> loop.Observer:
    def note(counts: Counts, run: loop.Run) -> bool:  # noqa: ARG001 - an observer's signature
        if "cold_start_seconds" not in report:
            report["cold_start_seconds"] = process_age()
        return False

    return note


def _tally(seen: Dict[str, Any]) -> loop.Observer:
    def note(counts: Counts, run: loop.Run) -> bool:  # noqa: ARG001 - an observer's signature
        seen["counts"] += counts
        seen["steps"] += 1
        return False

    return note


def _per_step(report: Report, counts: Counts, steps: int, work: flops.Work) -> None:
    if not steps:
        return
    report["tokens_per_step"] = {name: getattr(counts, name) / steps for name in ("trained", "real", "slots")}
    report["model"].update(flops_per_step=work.of(counts) / steps, formula=flops.FORMULA)


def _model(model: Any) -> Dict[str, Any]:
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "trained_parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
    }


def _memory(device: torch.device) -> Dict[str, Any]:
    cuda = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    return {"peak_rss": peak_rss(), "cuda_peak": cuda}


def versions() -> Dict[str, Optional[str]]:
    """Python and the packages that decide speed; None for one that is absent."""
    found: Dict[str, Optional[str]] = {"python": platform.python_version()}
    for name in ("torch", "transformers", "accelerate", "datasets", "peft", "safetensors", "tokenizers", "numpy"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def process_age() -> float:
    """Seconds since this process was started (field 22 of /proc/self/stat); this process's CPU time where there is
    no /proc.
    """
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as stream:
            ticks = float(stream.read().rpartition(")")[2].split()[19])
        with open("/proc/uptime", encoding="ascii") as stream:
            return float(stream.read().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return time.process_time()
