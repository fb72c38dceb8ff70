"""What is decided when data and model are there, each with its reason: length, recomputation, pieces, compiling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Callable

from trainer.compute import compiling, flops, hostmemory
from trainer.compute.parallel import Group
from trainer.data.counts import Counts
from trainer.data.source import Prepared, Source
from trainer.model import graphs, memory, selective
from trainer.model.build import Trainee, compile_layers, layers_of, recompute, size
from trainer.model.peak import RUNGS, SELECTIVE, ladder
from trainer.options import defaults
from trainer.options.settings import Settings
from trainer.report import Choice

LOOKED = 8  # steps, for how much is computed at once


def settle(
    settings: Settings, trainee: Trainee, prepared: Prepared, say: Callable[[str], None]
) -> tuple[Settings, int]:
    """The settings with learning rate and length decided, each with its reason among the choices; steps in all."""
    per_epoch = prepared.source.steps_in(0)
    epochs, steps, why = defaults.length(settings.epochs, settings.max_steps, per_epoch)
    if settings.streaming:
        epochs, why = defaults.WITHOUT_END, "max_steps of streamed data"
    trainee.choices.append(Choice("length", f"{steps} steps", why))
    if defaults.cuts(settings.epochs, settings.max_steps, per_epoch):
        say(why)
    if short := defaults.too_short(settings.epochs, settings.max_steps, steps):
        say(short)
    if settings.warmup_steps < 0:
        settings = replace(settings, warmup_steps=defaults.warmup(steps, settings.schedule))
    if settings.learning_rate < 0:
        parameters = size(trainee.model).parameters
        relative = settings.moments == "adafactor"
        rate, why = defaults.learning_rate(parameters, trainee.adapters is not None, bool(settings.model), relative)
        trainee.choices.append(Choice("learning-rate", f"{rate:g}", why))
        settings = replace(settings, learning_rate=rate)
    return replace(settings, epochs=epochs), steps


def fit(
    trainee: Trainee, prepared: Prepared, settings: Settings, group: Group, steps: int, before: dict[str, Any]
) -> tuple[Settings, int]:
    """Settle what the settings leave to us; returns them settled, and the most tokens to compute at once (0: all).

    steps: of the whole run; 0 for a measured one. before: the state of the checkpoint that the run continues from,
    whose decisions are kept, since other kernels round otherwise; {} for a new run.
    """
    settings = _compile(trainee, prepared, settings, group, steps, before, prepared.source.step(0, 0))
    settings, limit = _recompute(trainee, prepared, settings, group, before)
    if settings.graphs == "on":
        why = graphs.why_not(trainee, settings, group, limit, prepared.source.step(0, 0))
        if why is None:
            graphs.capture(trainee.attention, layers_of(trainee.model))
        trainee.choices.append(Choice("graphs", "off" if why else "on", why or "asked for"))
    group.rest()
    return settings, limit


def _recompute(
    trainee: Trainee, prepared: Prepared, settings: Settings, group: Group, before: dict[str, Any]
) -> tuple[Settings, int]:
    trainee.loss_pieces.chunk_bytes = before.get("loss_chunk", settings.loss_chunk << 20)
    if settings.recompute != "auto":
        return settings, before.get("slots_limit", 0)
    steps = _first(prepared.source)
    batches = [batch for step in steps for batch in step]
    most = max(batch.slots for batch in batches)
    longest = max((max(batch.documents) for batch in batches if batch.documents), default=most)
    passes = [one for step in steps for one in memory.passes_of(step, settings)]
    layers, attention = layers_of(trainee.model), trainee.attention.name if trainee.attention else None
    # On a CPU the memory of such layers was not measured, and their operators' Python is a larger part of a step.
    products = trainee.device.type == "cuda" and group.kind != "fsdp2" and settings.compile != "on"
    products = products and not selective.why_not(trainee.model, layers, attention)
    plan, choice = memory.choose(trainee, group, settings.moments, passes, longest, products)
    # Processes that compute one pass together take the most careful of their plans.
    rungs = ladder(len(layers), products)
    place, limit = max(group.gathered((rungs.index(plan.rung), plan.slots_limit)))
    known = (*RUNGS, *rungs, *ladder(len(layers), not products))
    rung = before["recompute"] if before.get("recompute") in known else rungs[place]
    trainee.choices.append(choice)
    if not settings.loss_chunk and "loss_chunk" not in before:
        trainee.loss_pieces.chunk_bytes = min(group.gathered(plan.chunk))
    if trainee.loss_pieces.chunk_bytes:
        trainee.choices.append(Choice("loss-chunk", f"{trainee.loss_pieces.chunk_bytes >> 20} MiB", choice.reason))
    if rung != "none":
        recompute(trainee.model, rung, settings.recompute_rng, attention)
    elif plan.ample and trainee.device.type == "cpu" and settings.freed_memory == "auto" and hostmemory.keep():
        trainee.choices.append(Choice("freed-memory", "kept", "twice of what the run takes is free"))
    return replace(settings, recompute=rung), before.get("slots_limit", limit)


def _first(source: Source) -> list[Sequence[Any]]:
    """Micro-batches of the first steps: a packed row may be a short one, the next is full."""
    return [source.step(0, number) for number in range(1 if source.in_order else min(LOOKED, source.steps_in(0)))]


def _compile(
    trainee: Trainee,
    prepared: Prepared,
    settings: Settings,
    group: Group,
    steps: int,
    before: dict[str, Any],
    batches: Any,
) -> Settings:
    on, reason = settings.compile == "on", "asked for"
    if settings.compile == "auto":
        device = trainee.device
        decision = compiling.CompileDecision(False, "a measured run ends before it pays")
        if "compiled" in before:
            decision = compiling.CompileDecision(bool(before["compiled"]), "as before the interruption")
        elif steps:
            work = flops.work_of(trainee.model).of(Counts.of(batches))
            seconds = compiling.predicted_seconds(work, device, settings.peak_tflops * 1e12)
            decision = compiling.decide(steps, seconds, device.type, compiling.missing_tool(device))
        on, reason = bool(group.gathered(decision.on)[0]), decision.reason
    if on:
        compiling.keep_compiled(trainee.device)
        faults = [fault for fault in group.gathered(compiling.why_not(trainee.device)) if fault]
        on, reason = not faults, faults[0] if faults else reason
    if on and (settings.recompute == SELECTIVE or "+" in settings.recompute):
        on, reason = False, f"recompute={settings.recompute} goes operator by operator; compiled layers need it not"
    if on:
        prepared.source.fill = True
        reason = f"{reason}; {compile_layers(trainee)}"
    if settings.compile != "off":
        trainee.choices.append(Choice("compile", "on" if on else "off", reason))
    return replace(settings, compile="on" if on else "off")


def as_reported(settings: Settings) -> dict[str, Any]:
    """What was settled, as a report gives it: settings with a plain yes or no say so, as baselines recorded them."""
    rung = settings.recompute
    known = {"none": False, "full": True}
    decided = {name: getattr(settings, name) for name in ("learning_rate", "warmup_steps")}
    return {"compile": settings.compile == "on", "recompute": known.get(rung, rung), **decided}
