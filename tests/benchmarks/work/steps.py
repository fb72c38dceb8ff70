"""Steps of the bundled workloads as a GPU would do them, on tensors without content: the trainer's own code throughout.

The model, the loss and the update are the trainer's. Of its attention the path for packed rows runs as well, up to
the kernel itself, in whose place nothing is computed and its operations are counted.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from trainer import tasks
from trainer.compute.hardware import DTYPES
from trainer.compute.optimizer import Stepper
from trainer.data import workloads
from trainer.data.counts import Counts
from trainer.model import attention as attentions
from trainer.model.build import Trainee, load_model
from trainer.options.settings import Settings, from_mapping

from tests.benchmarks.work.counting import Counted, Counter

STEPS = 3
"""Steps counted: the first is left out, for it makes the optimizer's state; the rest are averaged."""

RATE = 1e-4


@dataclass(frozen=True)
class StepWork:
    """One row of the table: of a mean step, in FLOPs, bytes and kernels."""

    workload: str
    precision: str
    tokens: float
    trained: float
    squares: float
    parameters: int
    products: dict[str, float]
    attention: float
    bytes: float
    optimizer_bytes: float
    launches: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class _Opaque(torch.autograd.Function):  # type: ignore[misc]
    """An attention kernel that computes nothing. (tokens, heads, width) in and out."""

    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any, counter: Counter, flops: float) -> Any:
        ctx.counter, ctx.flops = counter, flops
        ctx.save_for_backward(query, key, value)
        with counter.attends(flops):
            return torch.empty_like(query)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        # Five products for the forward pass's two, in two kernels: FlashAttention-2, section 3 (arXiv 2307.08691).
        with ctx.counter.attends(2.5 * ctx.flops, kernels=2):
            return (*(torch.empty_like(tensor) for tensor in ctx.saved_tensors), None, None)


def _attention(counter: Counter) -> attentions.DocumentAttention:
    def kernel(
        query: Any, key: Any, value: Any, starts: Any, ends: Any, longest: int, other: int, *,
        scale: float | None = None, window_size: tuple[int, int] = (-1, -1), enable_gqa: bool = False,
    ) -> Any:  # fmt: skip
        _, heads, width = query.shape
        squares = sum(length * length for length in found.lengths)
        flops = 4.0 * heads * width * squares / (2.0 if window_size[1] == 0 else 1.0)
        return _Opaque.apply(query, key, value, counter, flops)

    found = attentions.DocumentAttention("counted", attentions.varlen_path(kernel))
    return found


def count(workload: str, precision: str, cache: Path) -> StepWork:
    """The mean step of a bundled workload; `cache`: where its tokens may be kept."""
    work = workloads.find(workload)
    values = {**work.settings, "workload": workload, "output": str(cache / "run"), "cache": str(cache)}
    settings = from_mapping(values, "count", "default", "sft")
    task = tasks.load("sft")
    prepared = task.prepare(settings, work)
    batches = [prepared.source.step(0, index) for index in range(min(STEPS, prepared.source.steps_in(0)))]
    every, parameters = count_steps(task, settings, work, precision, batches)
    counts = [Counts.of(step) for step in batches]
    # A whole epoch tells the usual step better than the few that are counted; what is counted follows its tokens.
    tokens = statistics.fmean(one.real for one in counts)
    return StepWork(
        workload=workload,
        precision=precision,
        tokens=tokens,
        trained=statistics.fmean(one.trained for one in counts),
        squares=statistics.fmean(one.squares for one in counts),
        parameters=parameters,
        products={
            form: statistics.fmean(one.products[form] for one in every) for form in sorted(set().union(*_forms(every)))
        },
        attention=statistics.fmean(one.attention for one in every),
        bytes=statistics.fmean(one.bytes for one in every),
        optimizer_bytes=statistics.fmean(one.optimizer_bytes for one in every),
        launches=round(statistics.fmean(one.launches for one in every)),
    )


def _forms(every: Sequence[Counted]) -> list[set[str]]:
    return [set(one.products) for one in every]


def count_steps(
    task: Any, settings: Settings, work: Any, precision: str, batches: Sequence[Any]
) -> tuple[list[Counted], int]:
    """What each step asks for, and the number of weights."""
    counter, dtype, device = Counter(), DTYPES[precision], torch.device("cpu")
    found: list[Counted] = []
    with FakeTensorMode(allow_non_fake_inputs=True):
        attention = _attention(counter)
        implementation, held, _ = attentions.install(attention)
        with held:
            model = load_model(settings, work, implementation)
            model.train()
            trainee = Trainee(model, device, dtype, attention, [])
            stepper = Stepper(model, device, replace(settings, learning_rate=RATE))
            _step(task, settings, trainee, stepper, batches[0], counter)  # makes the optimizer's state
            for step in batches:
                counter.now = Counted()
                with counter:
                    _step(task, settings, trainee, stepper, step, counter)
                found.append(counter.now)
        return found, sum(parameter.numel() for parameter in model.parameters())


def _step(task: Any, settings: Settings, trainee: Trainee, stepper: Stepper, batches: Any, counter: Counter) -> None:
    for batch in batches:
        loss = task.loss(trainee, batch.to(trainee.device), settings, 1.0)
        loss.backward()
    with counter.updates():
        stepper.step(RATE)
