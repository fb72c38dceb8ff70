"""Is a step as long as the model says? On this CPU, from its own probes: `python -m tests.benchmarks.modelled`.

Three sizes, three tasks, two number formats. Of each: steps of real batches are timed, their operators are counted, and
every product, the attention, a pass through memory and the first touch of a page are timed by themselves, in turns with
the steps, so that what the machine does to one it does to all. A process gives freed memory back and gets it anew in
each step: the kernel clears every page of it, which a pass over tensors that are there already never pays. Then
`envdoctor.speed.modelled.expected_step` says how long the step should be. Two efficiencies are fitted to the rest of
the cells whenever one third of them is predicted.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from trainer import tasks
from trainer.compute.hardware import bfloat16_units
from trainer.compute.optimizer import Stepper
from trainer.data import workloads
from trainer.data.prepare import prepare
from trainer.model.blockwise import Blockwise
from trainer.model.build import build
from trainer.options.settings import from_mapping

from tests.benchmarks.modelled_cells import SIZES, TASKS, Cell, as_json, from_json, place_of, table
from tests.benchmarks.work.counting import Counted, Counter, Shape

RECORD = Path(__file__).parent / "recorded" / "modelled-cpu.json"
ROW = 768  # tokens; longer chats are left out
BATCHES = 1
PAGE = os.sysconf("SC_PAGE_SIZE")
FRESH = 32 << 20  # bytes whose pages are touched for the first time, to see what one costs
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
CLASSES = [1 << power for power in range(12, 29)]  # bytes of the largest tensor of an operator


def timed(call: Callable[[], Any]) -> float:
    """CPU seconds of this process. It has one thread, so that neighbours that take its core away do not count: of
    several, those that wait for one without a core would spin, and count ten times what was worked."""
    assert torch.get_num_threads() == 1
    start = time.process_time()
    call()
    return time.process_time() - start


def measure(size: str, task: str, precision: str, rounds: int, folder: Path) -> Cell:
    """Time one cell."""
    cell = Cell(size, task, precision)
    run = _trainee(size, task, precision, folder)
    batches = [run.prepared.source.step(0, index) for index in range(BATCHES)]
    entered: list[list[tuple[tuple[int, ...], bool]]] = []

    def step(index: int) -> None:
        for batch in batches[index]:
            run.task.loss(run.trainee, batch, run.settings, 1e-3).backward()
        run.stepper.step(1e-5)

    for index in range(BATCHES):
        step(index)
        step(index)
        counted, seen = _counted(run, lambda index=index: step(index))
        cell.work.append(counted)
        entered.append(seen)
    cell.tokens = statistics.fmean(sum(batch.real for batch in step_) for step_ in batches)
    calls = {shape: _product(shape) for shape in sorted(set().union(*(one.shapes for one in cell.work)))}
    attend = [_attention(run, seen) for seen in entered]
    passes = {size_: _pass(size_) for size_ in CLASSES if any(one.sizes[size_] for one in cell.work)}
    launch = _launches()
    _fresh()
    for shape in calls:
        cell.products[shape] = []
    for number in range(rounds):
        for index in range(BATCHES):
            if number == 0:
                cell.steps.append([])
                cell.attention.append([])
                cell.faults.append([])
            touched = _faults()
            cell.steps[index].append(timed(lambda index=index: step(index)))
            cell.faults[index].append(_faults() - touched)
            cell.attention[index].append(timed(attend[index]))
        for shape, call in calls.items():
            cell.products[shape].append(timed(call))
        for size_, (call, moved) in passes.items():
            cell.passes.setdefault(size_, []).append(timed(call) / moved)
        cell.launch.append(launch())
        cell.page.append(_fresh())
    return cell


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def _fresh() -> float:
    """Seconds for each page of memory that nobody has written to yet, its clearing by the kernel included."""
    with mmap.mmap(-1, FRESH) as memory:
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            memory.madvise(mmap.MADV_NOHUGEPAGE)  # as malloc's own memory is
        seconds = timed(lambda: torch.frombuffer(memory, dtype=torch.uint8)[::PAGE].fill_(1))
    return seconds / (FRESH // PAGE)


@dataclass
class _Run:
    """What a step needs, put together as `trainer.run` does."""

    task: Any
    settings: Any
    trainee: Any
    prepared: Any
    stepper: Stepper


def _trainee(size: str, task: str, precision: str, folder: Path) -> _Run:
    settings = from_mapping(_settings(size, task, precision, folder), "benchmark", "default", task)
    workload, job = workloads.find(settings.workload), tasks.load(task)
    prepared = job.prepare(settings, workload)
    trainee = build(settings, workload)
    job.adapt(trainee, settings)
    torch.set_num_threads(1)  # whatever preparing the data took
    return _Run(job, settings, trainee, prepared, Stepper(trainee.model, trainee.device, settings))


def _settings(size: str, task: str, precision: str, folder: Path) -> dict[str, Any]:
    name = f"modelled-{size}"
    shape = SIZES[size]
    workloads.WORKLOADS[name] = workloads.Workload(name, name, workloads._llama(*shape), {})
    data = {
        "sft": [str(workloads.DATA / "chat.jsonl")],
        "pretrain": [str(folder / "shards")],
        "gritlm": [str(workloads.DATA / "pairs.jsonl"), str(workloads.DATA / "chat.jsonl")],
    }
    skipping = {"over_long": "skip"}
    extra: dict[str, Any] = {
        "sft": skipping, "pretrain": {"examples_per_batch": 1}, "gritlm": {"pairs_per_batch": 8, **skipping},
    }[task]  # fmt: skip
    return {
        "workload": name, "data": data[task], "tokens_per_row": ROW, "precision": precision,
        "device": "cpu", "threads": 1, "recompute": "none", "compile": "off", "learning_rate": 1e-5,
        "output": str(folder / f"{name}-{task}-{precision}"), "cache": str(folder / "cache"), **extra,
    }  # fmt: skip


def _counted(run: _Run, step: Callable[[], None]) -> tuple[Counted, list[tuple[tuple[int, ...], bool]]]:
    """What a step asks for, and the rows that attention entered."""
    counter, seen = Counter(), []
    attention, config = run.trainee.attention, run.trainee.model.config
    enter = attention.enter

    def noted(lengths: tuple[int, ...], borders: Any, causal: bool = True) -> None:
        seen.append((tuple(lengths), causal))
        enter(lengths, borders, causal)

    attention.enter = noted
    try:
        with _apart(counter), counter:
            step()
    finally:
        attention.enter = enter
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    for lengths, causal in seen:
        squares = sum(length * length for length in lengths)
        products = 7.0 if causal else 14.0
        counter.now.attention += products * config.num_hidden_layers * config.num_attention_heads * width * squares
    return counter.now, seen


@contextmanager
def _apart(counter: Counter) -> Any:
    """Attention that is made of plain operators is not counted among them."""
    before = Blockwise.__dict__["forward"], Blockwise.__dict__["backward"]

    def attending(function: Callable[..., Any]) -> Any:
        def called(*args: Any) -> Any:
            with counter.attends(0.0):
                return function(*args)

        return staticmethod(called)

    Blockwise.forward, Blockwise.backward = (attending(one.__func__) for one in before)
    try:
        yield
    finally:
        Blockwise.forward, Blockwise.backward = before


def _product(shape: Shape) -> Callable[[], Any]:
    name, form, sizes, turned = shape
    tensors = [
        torch.randn(*size[:-2], *(size[-2:][::-1] if over else size[-2:])).to(DTYPES[form])
        for size, over in zip(sizes, turned)
    ]
    left, right = (tensor.transpose(-1, -2) if over else tensor for tensor, over in zip(tensors, turned))
    call = torch.bmm if "bmm" in name else torch.mm
    call(left, right)
    return lambda: call(left, right)


def _attention(run: _Run, seen: Sequence[tuple[tuple[int, ...], bool]]) -> Callable[[], None]:
    """Both passes of all layers over the rows of one step, by the trainer's own attention."""
    config, state = run.trainee.model.config, run.trainee.attention
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    rows = []
    for lengths, causal in seen:
        inputs = [
            torch.randn(1, heads, sum(lengths), width).to(run.trainee.dtype).requires_grad_()
            for heads in (config.num_attention_heads, config.num_key_value_heads, config.num_key_value_heads)
        ]
        borders = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int32)
        rows.append((lengths, borders, causal, inputs))

    def call() -> None:
        for lengths, borders, causal, inputs in rows:
            state.enter(lengths, borders, causal)
            for _ in range(config.num_hidden_layers):
                out, _ = state.forward(None, *inputs, None)
                torch.autograd.grad(out, inputs, torch.ones_like(out))

    call()
    return call


def _pass(size: int) -> tuple[Callable[[], Any], int]:
    """Two tensors read and a new one written, of `size` bytes each; and the bytes moved."""
    left, right = (torch.ones(size // 4) for _ in range(2))
    times = max(1, (4 << 20) // size)

    def call() -> None:
        for _ in range(times):
            torch.add(left, right)

    call()
    return call, 3 * size * times


def _launches() -> Callable[[], float]:
    """Seconds for each operator of a differentiated program, where there is next to nothing to compute."""
    tiny = torch.ones(1, requires_grad=True)

    def chain() -> float:
        def both() -> None:
            value = tiny
            for _ in range(200):
                value = value * 1.0
            value.sum().backward()

        return timed(both) / 400

    return chain


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.modelled", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", nargs="*", default=list(SIZES), help="other cells of the record stay as they are")
    parser.add_argument("--tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--replay", action="store_true", help="print what is recorded instead of timing")
    parser.add_argument("--output", type=Path, default=RECORD)
    given = parser.parse_args()
    if given.replay:
        print(table(from_json(json.loads(given.output.read_text("utf-8"))["cells"])))
        return
    torch.set_num_threads(1)
    formats = ["float32", *(["bfloat16"] if bfloat16_units() else [])]
    timed_anew = {(size, task) for size in given.sizes for task in given.tasks}
    rows = json.loads(given.output.read_text("utf-8"))["cells"] if given.output.exists() else []
    cells = [one for one in from_json(rows) if (one.size, one.task) not in timed_anew]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shards = {"data": [str(workloads.DATA / "texts.jsonl")], "tokenizer": str(workloads.DATA / "tokenizer")}
        prepare(from_mapping({**shards, "output": str(folder / "shards")}, "benchmark"), lambda _: None)
        for size in given.sizes:
            for task in given.tasks:
                for precision in formats:
                    cells.append(measure(size, task, precision, given.rounds, folder))
                    print(size, task, precision, flush=True)
                    record: dict[str, Any] = {
                        "threads": torch.get_num_threads(),
                        "cores": os.cpu_count(),
                        "torch": torch.__version__,
                    }
                    cells.sort(key=place_of)
                    given.output.write_text(json.dumps({**record, "cells": as_json(cells)}), encoding="utf-8")
    print(table(cells))


if __name__ == "__main__":
    main()
