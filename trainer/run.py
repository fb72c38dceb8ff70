"""One run from settings to a trained model, in the order in which it happens; the report is written as it is learnt."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Callable

import torch

from trainer import flags, tasks
from trainer.checkpoints import card, save, upload
from trainer.checkpoints import folder as run_folder
from trainer.checkpoints.publish import publish
from trainer.checkpoints.resume import resume
from trainer.checkpoints.uploading import uploading
from trainer.compute import contradictions, flops, parallel, process
from trainer.compute.hardware import describe
from trainer.compute.optimizer import Stepper
from trainer.data import hub, whole, workloads
from trainer.data.counts import Counts
from trainer.data.located import locate
from trainer.data.source import Share
from trainer.errors import TrainerError, disk_remedy
from trainer.loop import train, train_more
from trainer.measure import idle, progress
from trainer.measure.history import History, finite
from trainer.measure.measurement import Stopwatch, total
from trainer.measure.protocol import Protocol
from trainer.measure.watching import RunTimer, Tally
from trainer.model import fitting
from trainer.model.build import Place, build, check, size
from trainer.options import defaults
from trainer.options.settings import Settings, as_file
from trainer.report import RunReport
from trainer.state import Run
from trainer.validation import best
from trainer.validation.evaluation import Evaluation, sentence


def execute(
    task_name: str,
    settings: Settings,
    flag_values: Mapping[str, Any],
    protocol: Protocol | None,
    report: RunReport,
    say: Callable[[str], None],
) -> None:
    """Train, or time the training when `protocol` is given; fills `report`. TrainerError tells what stopped it."""
    workload = workloads.find(settings.workload) if settings.workload else None
    report.versions = process.versions()
    _switch(flag_values)
    task = tasks.load(task_name)
    if settings.upload and not protocol:
        upload.check(settings.upload, settings.upload_compression)

    with parallel.join_group(settings) as group, ExitStack() as held:
        report.processes = group.as_reported()
        tell = say if group.first else _silent
        report.named_output = bool(settings.output)
        report.settings = asked = run_folder.with_folder(settings, task_name, group)
        known: run_folder.Record = {}
        if not protocol:
            claim = run_folder.claim(asked, task_name, tell)
            known = group.in_turn(lambda: held.enter_context(claim) if group.first else {})
        # From here on with files and folders in place of Hub names and patterns
        settings, report.hub = group.in_turn(lambda: locate(asked, task_name, tell))
        # The first process moves aside what resume=never means, and speaks for all.
        mine = settings if group.first else replace(settings, resume="auto")
        prepared = group.in_turn(lambda: task.prepare(mine, workload), task.in_turn)
        prepared.source.share = Share(group.rank, group.world)
        report.data = prepared.facts
        for kind, files in prepared.facts.get("formats", {}).items():
            tell(f"{', '.join(files[:3])}{' ...' if len(files) > 3 else ''}: {kind}")
        for line in prepared.facts.get("over_long", ()):
            tell(line)
        content = run_folder.fingerprints(settings, prepared.facts)
        if not protocol:
            enter = partial(run_folder.enter, asked, task_name, content, known)
            done = group.gathered(group.in_turn(lambda: enter() if group.first else {}))[0]
            report.follow(known)
            if done:
                report.repeat(done)
                return

        frozen, sharded = task.freezes(settings), group.kind == "fsdp2"
        contradictions.check(settings, group.kind, frozen)
        place = Place(group.local_world, frozen, sharded, sharded and not group.first)
        trainee = build(settings, workload, place)
        with trainee.held:
            task.adapt(trainee, settings)
            group.wrap(trainee.model, trainee.dtype if trainee.device.type in parallel.DEVICES else torch.float32)
            trainee.through = group.compute
            if sharded:
                check(trainee)
            fresh = protocol or settings.resume == "never"
            checkpoints = {} if fresh else save.glance(Path(settings.output) / "checkpoints")
            settings, steps = fitting.settle(settings, trainee, prepared, tell)
            settings, limit = fitting.fit(trainee, prepared, settings, group, 0 if protocol else steps, checkpoints)
            report.settled, report.choices = fitting.as_reported(settings), trainee.choices
            work = flops.work_of(trainee.model)
            report.device, report.model = describe(trainee.device), size(trainee.model)

            if group.world > 1:
                torch.manual_seed(settings.seed + group.rank)  # other dropout masks in every process
            stepper = Stepper(trainee.model, trainee.device, settings, half=trainee.dtype == torch.float16)
            trainee.loss_pieces.loss_scale = stepper.scale.value if stepper.scale else None
            trainee.choices += [parallel.choice(group), stepper.choice]
            report.flags = flags.read_all(torch)
            run = Run(
                settings=settings, task=task, trainee=trainee, prepared=prepared, stepper=stepper, group=group,
                say=tell, slots_limit=limit, history=History(settings.max_bad_steps, settings.stop_diverging),
                stopwatch=Stopwatch(trainee.device), total_steps=steps,
                epochs=defaults.WITHOUT_END if protocol else settings.epochs,
            )  # fmt: skip
            tally = Tally()
            try:
                if protocol:
                    _measure(run, protocol, tally, work, report)
                else:
                    _train(run, tally, work, report)
                    _record(run, task_name, content, report)
            finally:
                report.cold_start_seconds = tally.cold_start_seconds
                report.steps, report.skipped_steps = run.position.step, run.history.skipped
                report.losses, report.grad_norms = finite(run.history.losses), finite(run.history.norms)
                report.memory = report.memory or process.memory(trainee.device)
            report.outcome = "interrupted" if run.interrupted else "finished"


def _record(run: Run, task: str, content: dict[str, str], report: RunReport) -> None:
    """How the run ended, for the next command on its folder."""
    report.summarise(finite(run.history.losses))
    if not run.group.first:
        return
    uploaded = run.settings.upload if run.settings.upload and not (report.uploads or {}).get("failed") else None
    outcome = "interrupted" if run.interrupted else "finished"
    run_folder.write(
        report.settings, task, content, outcome=outcome, steps=run.position.step, seconds=report.seconds,
        first_loss=report.first_loss, last_loss=report.last_loss, model_path=report.model_path, upload=uploaded,
        pushed=run.settings.push_to if report.pushed_to else None,
    )  # fmt: skip


def _train(run: Run, tally: Tally, work: flops.ModelWork, report: RunReport) -> None:
    """To the end of the data or a signal, from the last checkpoint on; then the model is written."""
    settings, folder = run.settings, Path(run.settings.output) / "checkpoints"
    partial = resume(run, folder)
    if run.group.first:
        _keep_config(settings, report)
    with uploading(run, report) as announce:
        # Every process has a saver, of which only the first one's writes.
        run.saver = save.Saver(folder, settings.keep_checkpoints, settings.checkpoint_blocking, announce)
        with ExitStack() as shown:
            watched: list[Evaluation] = []
            log = shown.enter_context(
                progress.show_progress(run, work, lambda now: any(one.due(now) for one in watched))
            )
            if len(run.prepared.validation) or run.prepared.scores or settings.sample_prompts:
                watched.append(Evaluation(run, log.note))
            begun = time.perf_counter()
            if not any(one.over for one in watched):
                train(run, [log, *watched, tally], partial)
        report.seconds = time.perf_counter() - begun
        _per_step(report, tally.counts, tally.steps, work)
        for evaluation in watched:
            _take_best(run, evaluation, report)
        if settings.save_model and not run.interrupted:
            report.steps = run.position.step
            report.summarise(finite(run.history.losses))
            adapter = run.trainee.adapters is not None and not settings.merge_lora
            base = report.settings.model
            report.model_path = publish(run, base, lambda target: card.write(target, report, settings, base, adapter))
            if settings.push_to and report.model_path:
                report.pushed_to = hub.push(Path(report.model_path), settings.push_to, run.say)


def _keep_config(settings: Settings, report: RunReport) -> None:
    """OUTPUT/config.yaml: every option as it was decided, under the names that were given."""
    names = ("learning_rate", "warmup_steps", "compile", "recompute")
    decided = {name: getattr(settings, name) for name in names}
    epochs = 0 if settings.epochs == defaults.WITHOUT_END else settings.epochs
    text = as_file(replace(report.settings, **decided, epochs=epochs), str(report.task), f"{report.task}, as decided")
    try:
        whole.write_file(Path(settings.output) / "config.yaml", text.encode())
    except OSError as error:
        raise TrainerError(
            "output-not-writable", f"{settings.output}: {error.strerror or error}", disk_remedy(error)
        ) from None


def _take_best(run: Run, evaluation: Evaluation, report: RunReport) -> None:
    """The weights that did best on held-out data become the model's, where they are not those of the last step."""
    lowest = evaluation.best
    if lowest is None:
        return
    report.validation = {
        "best_step": lowest["step"], "best_loss": lowest.get("eval_loss"), "best_scores": lowest.get("scores", {}),
        "told": sentence(lowest), "evaluations": evaluation.rows,
    }  # fmt: skip
    if run.settings.keep_best and not run.interrupted and lowest["step"] != run.position.step:
        best.restore(run, Path(run.settings.output) / "best")
        run.say(f"the model is that of step {lowest['step']}, which did best on the held-out data")


def _measure(run: Run, protocol: Protocol, tally: Tally, work: flops.ModelWork, report: RunReport) -> None:
    """Probes, warm-up, windows, probes; nothing is saved."""
    device = run.trainee.device
    watch = RunTimer(protocol, run.stopwatch, device, run.trainee.dtype)
    train(run, [tally, watch])
    now = time.perf_counter()
    report.memory = process.memory(device)
    report.seconds, report.timing = now - watch.begun, watch.timing(now)
    every = total(report.timing.windows)
    pace = run.group.gathered(every.seconds / every.steps if every.steps else None)[0]
    if pace and not run.interrupted:
        report.timing.gpu_idle = idle.profile_steps(lambda steps: train_more(run, steps), pace, device)
    _per_step(report, Counts(**every.tokens, squares=every.squares), every.steps, work)
    if not every.steps and not run.interrupted:
        raise TrainerError(
            "too-slow-to-measure",
            f"no window was complete after {protocol.max_seconds:.0f} s",
            "Raise max_seconds or take a smaller workload.",
        )


def _per_step(report: RunReport, counts: Counts, steps: int, work: flops.ModelWork) -> None:
    if steps and report.model:
        report.tokens_per_step = {name: getattr(counts, name) / steps for name in ("trained", "real", "slots")}
        report.model.flops_per_step, report.model.formula = work.of(counts) / steps, flops.FORMULA


def _switch(flag_values: Mapping[str, Any]) -> None:
    try:
        flags.apply(torch, flag_values)
    except ValueError as error:
        raise TrainerError("bad-flag", str(error), "Correct the flags of the order.") from None


def _silent(text: str) -> None:
    """What processes other than the first have to say."""
