"""The trainer's own runs, built piece by piece as `trainer.run` does, so that they can be timed, profiled and compared
within one process.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from trainer import flags, loop, tasks
from trainer.compute import flops
from trainer.compute.optimizer import Stepper
from trainer.data.counts import Counts
from trainer.data.workloads import DATA, Workload
from trainer.measure.history import History
from trainer.measure.measurement import Measurement, Stopwatch, total
from trainer.measure.protocol import Protocol
from trainer.model.build import build
from trainer.options.settings import from_mapping
from trainer.state import Run

from tests.benchmarks.gpu import machine
from tests.benchmarks.gpu.timing import wait

FOREVER = 10**6  # epochs; a run ends by its measurement


def shape(
    hidden: int, layers: int, heads: int, kv_heads: int, inner: int, vocabulary: int, tied: bool = True
) -> dict[str, Any]:
    """A Llama configuration."""
    return {
        "model_type": "llama", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "intermediate_size": inner, "vocab_size": vocabulary,
        "max_position_embeddings": 16384, "tie_word_embeddings": tied, "pad_token_id": 0, "eos_token_id": 1,
        "bos_token_id": None, "rms_norm_eps": 1e-5,
    }  # fmt: skip


SHAPES: dict[str, dict[str, Any]] = {
    "toy": shape(64, 2, 4, 2, 128, 2048),
    "0.15b": shape(576, 30, 9, 3, 1536, 49152),  # SmolLM-135M
    "1b": shape(2048, 16, 32, 8, 8192, 128256),  # Llama-3.2-1B
    "8b": shape(4096, 32, 32, 8, 14336, 128256, tied=False),  # Llama-3.1-8B
}


def workload(name: str) -> Workload:
    """The bundled chats under a model of that shape."""
    return Workload(name, name, SHAPES[name], {})


@contextmanager
def run_of(
    task_name: str, values: Mapping[str, Any], shape_name: str, device: torch.device, flag_values: Mapping[str, Any]
) -> Iterator[Run]:
    """A run ready for `loop.train`; flags are put back afterwards. The weights of large models are drawn on the
    device: drawing 8 billion on the CPU takes minutes.
    """
    plain = {"device": device.type, "compile": False, "recompute": False}  # what is compiled or recomputed is asked for
    settings = from_mapping({**plain, **values}, "benchmark")
    before = {name: value for name, value in flags.read_all(torch).items() if name in flag_values}
    flags.apply(torch, flag_values)
    work, job = workload(shape_name), tasks.load(task_name)
    prepared = job.prepare(settings, work)
    on_device = shape_name in ("1b", "8b") and not settings.model
    context: Any = torch.device(device) if on_device else _here()
    with context:
        trainee = build(settings, work)
    try:
        with trainee.held:
            job.adapt(trainee, settings)
            yield Run(
                settings=settings, task=job, trainee=trainee, prepared=prepared,
                stepper=Stepper(trainee.model, trainee.device, settings, half=trainee.dtype == torch.float16),
                history=History(settings.max_bad_steps), stopwatch=Stopwatch(trainee.device),
                total_steps=settings.max_steps or FOREVER,
                epochs=FOREVER,
            )  # fmt: skip
    finally:
        flags.apply(torch, before)


@contextmanager
def _here() -> Iterator[None]:
    yield


def losses(run: Run) -> list[float]:
    """Train `max_steps` steps; the loss of each."""
    loop.train(run, [])
    return list(run.history.losses)


def warm(run: Run, steps: int) -> float:
    """Seconds of the first steps, which compile."""
    begun, done = time.perf_counter(), [0]

    def count(counts: Counts, _: Run) -> bool:
        done[0] += 1
        return done[0] >= steps

    loop.train(run, [count])
    wait(run.trainee.device)
    return time.perf_counter() - begun


def timed(run: Run, protocol: Protocol) -> dict[str, Any]:
    """Warm up, time windows; figures of the median window and the raw ones."""
    device, settings = run.trainee.device, run.settings
    work = flops.work_of(run.trainee.model)
    measurement = Measurement(protocol, run.stopwatch)
    measurement.start()
    begun = time.perf_counter()
    loop.train(run, [lambda counts, _: measurement.after_step(counts)])
    if not measurement.windows:
        raise RuntimeError("no window was complete after %.0f s" % (time.perf_counter() - begun))
    whole = total(measurement.windows)
    rates = {kind: statistics.median(w.tokens[kind] / w.seconds for w in measurement.windows) for kind in whole.tokens}
    tokens = whole.tokens
    counts = Counts(tokens["trained"], tokens["real"], tokens["slots"], 0, whole.squares)
    speed = work.of(counts) / whole.seconds
    peak = machine.peak_flops(device)
    parts = {name: round(value / whole.seconds, 4) for name, value in whole.breakdown.items()}
    return {
        "tokens_per_second": rates, "steps_per_second": whole.steps / whole.seconds,
        "tflops": speed / 1e12, "mfu": speed / peak if peak else None, "breakdown": parts,
        "memory": torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None,
        "reserved": torch.cuda.max_memory_reserved(device) if device.type == "cuda" else None,
        "parameters": sum(p.numel() for p in run.trainee.model.parameters()),
        "trained_parameters": sum(p.numel() for p in run.trainee.model.parameters() if p.requires_grad),
        "warmup": asdict(measurement.warmup), "losses": run.history.losses[:5], "rows": settings.tokens_per_row,
        "attention": run.trainee.attention.name if run.trainee.attention else "model",
        "windows": [
            {k: getattr(w, k) for k in ("steps", "seconds", "cpu_seconds", "tokens")} for w in measurement.windows
        ],
    }  # fmt: skip


def profiled(run: Run, steps: int) -> dict[str, Any]:
    """A few more steps under torch's profiler: the share of time without any kernel, and the kernels that take most."""
    from torch.profiler import ProfilerActivity, profile

    device = run.trainee.device
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device.type == "cuda" else [])
    done: list[float] = []

    def count(counts: Counts, _: Run) -> bool:
        done.append(time.perf_counter())
        return len(done) >= steps

    wait(device)
    with profile(activities=activities) as profiler:
        loop.train(run, [count])
        wait(device)
    return busy(profiler, "cuda" if device.type == "cuda" else "cpu")


def busy(profiler: Any, kind: str) -> dict[str, Any]:
    """Idle share of the span between the first and the last event on that kind of device, and the top names.

    Marks of regions (an optimizer's step) span kernels without being any, and do not count.
    """
    intervals, by_name = [], {}  # type: ignore[var-annotated]
    for event in profiler.profiler.kineto_results.events():
        if kind.upper() not in str(event.device_type()) or event.duration_ns() <= 0 or _is_mark(event):
            continue
        intervals.append((event.start_ns(), event.start_ns() + event.duration_ns()))
        seconds, calls = by_name.get(event.name(), (0.0, 0))
        by_name[event.name()] = (seconds + event.duration_ns() / 1e9, calls + 1)
    if not intervals:
        return {"idle_share": None, "kernels": 0}
    intervals.sort()
    covered, end = 0, intervals[0][0]
    for start, stop in intervals:
        covered += max(0, stop - max(start, end))
        end = max(end, stop)
    span = end - intervals[0][0]
    top = sorted(by_name.items(), key=lambda item: -item[1][0])[:25]
    kernels = [{"name": name[:120], "ms": round(1e3 * s, 4), "calls": calls} for name, (s, calls) in top]
    return {"idle_share": 1 - covered / span, "span_ms": span / 1e6, "kernels": len(intervals), "top": kernels}


def _is_mark(event: Any) -> bool:
    told = getattr(event, "activity_type", None)
    if told is not None and "annotation" in told():
        return True
    return bool(event.is_user_annotation()) if hasattr(event, "is_user_annotation") else False


def data_for(
    task_name: str, folder: Path, shape_name: str, rows: int, chats: int | None = None, separate: bool = False
) -> dict[str, Any]:
    """Settings that name the data of a task, made once in `folder` from the first `chats` bundled chats.

    `pretrain` gets documents as long as four rows, so that attention spans whole rows, and with `separate` as they
    are in the chats.
    """
    from tests.benchmarks import corpora

    lines = (DATA / "chat.jsonl").read_text("utf-8").splitlines()[:chats]
    path = folder / "chats.jsonl"
    if not path.exists():
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    if task_name == "sft":
        return {"data": [str(path)]}
    talks = [json.loads(line)["messages"] for line in lines]
    if task_name == "gritlm":
        return {"data": [corpora._lines(folder / "pairs.jsonl", corpora._pairs(talks)), str(path)]}
    words = ["\n".join(turn["content"] for turn in talk) for talk in talks]
    if not separate:
        text, size = "\n".join(words), 16 * rows  # characters: the bundled tokenizer makes a token of about four
        words = [text[start : start + size] for start in range(0, len(text), size)]
    place = folder / ("shards-%d-%s" % (rows, separate))
    if not place.exists():
        place.mkdir()
        texts = corpora._lines(place / "texts.jsonl", [{"text": one} for one in words])
        corpora._shards(texts, workload(shape_name), place)
    return {"data": [str(place / "shards")], "separate_documents": separate}
