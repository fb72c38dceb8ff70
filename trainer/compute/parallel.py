"""Several processes as one run: torchrun or accelerate start them; every one has the model, or (FSDP2) a share of it.

Each process computes its share of a step's micro-batches and scales its summed loss by processes / (trained tokens of
ALL processes), so that the mean over the processes is the mean over tokens, not a mean of means. What the
host needs from the others (that divisor, the counts, whether somebody was told to stop) is one small message per step
over gloo, which never waits for a GPU.

With whole models ("ddp") gradients are exchanged once a step, while its last backward pass runs, or after it
(`trainer.compute.exchange`). Under FSDP2 each micro-batch's gradients are scattered as they are formed: keeping whole
ones for a single exchange per step would cost the memory that FSDP2 saves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Callable

import torch

from trainer.compute import sharding
from trainer.compute.exchange import Exchange
from trainer.data.counts import Counts
from trainer.errors import TrainerError
from trainer.options.settings import Settings
from trainer.report import Choice, Processes

# Other processes wait this long for one that prepares data, samples or writes a model; NCCL's own limit stays as it is.
PATIENCE = timedelta(days=7)
# Where what travels is as narrow as the products: it is worth its rounding on links between GPUs.
DEVICES = ("cuda",)


@dataclass
class Group:
    """The processes of a run; by default there is one, and everything here is free."""

    rank: int = 0
    world: int = 1
    local_world: int = 1
    kind: str = "single"  # single, ddp, fsdp2
    accelerator: Any = None
    control: Any = None  # gloo group for messages between hosts
    wrapped: Any = None
    exchange_in: str = "auto"  # the number format in which gradients and gathered weights travel
    overlap: bool = True  # gradients travel while the last backward pass runs
    travels: torch.dtype = torch.float32  # they do, once the model is wrapped
    gradients: Exchange | None = None

    @property
    def first(self) -> bool:
        """Does this process read, write and speak for all?"""
        return self.rank == 0

    def as_reported(self) -> Processes:
        """For the report."""
        return Processes(self.rank, self.world, self.kind)

    def wrap(self, model: Any, dtype: torch.dtype) -> None:
        """Make the model one of several: exchanged gradients, or shards, which go to this process's device one layer
        after the other. Afterwards `compute` goes through the wrapper. dtype: of its products.
        """
        narrow = dtype == torch.bfloat16 and self.exchange_in != "float32"
        self.travels = torch.bfloat16 if narrow else torch.float32
        if self.kind == "ddp":
            trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
            self.gradients = Exchange(trained, self.world, self.travels)
        elif self.kind == "fsdp2":
            self.wrapped = sharding.wrap(self.accelerator, Entry(model), self.gathers)

    @property
    def gathers(self) -> torch.dtype | None:
        """The number format in which FSDP2 gathers all weights; None: each in its own, or there are no shards."""
        return self.travels if self.kind == "fsdp2" and self.travels != torch.float32 else None

    def rest(self) -> None:
        """Give back what passes without a backward pass have left gathered: weights are shards again."""
        if self.kind == "fsdp2":
            sharding.rest(self.wrapped)

    def compute(self, function: Callable[..., torch.Tensor], *arguments: Any) -> torch.Tensor:
        """`function(*arguments)`, a scalar, inside the wrapper's forward pass."""
        return function(*arguments) if self.wrapped is None else self.wrapped(function, *arguments)

    @contextmanager
    def passing(self, last: bool) -> Iterator[None]:
        """Context of a micro-batch's backward pass; `last`: of its step, and it reaches each weight once."""
        if self.gradients is None or not last or not self.overlap:
            yield
            return
        self.gradients.arm()
        try:
            yield
        finally:
            self.gradients.disarm()

    def reduce_gradients(self) -> None:
        """Average the accumulated gradients over the processes (FSDP2 has done it already)."""
        if self.gradients is not None:
            self.gradients.finish()

    def exchange(self, values: list[float]) -> list[float]:
        """The sums over the processes, host to host. Every process must come here equally often."""
        if self.world == 1:
            return values
        message = torch.tensor(values, dtype=torch.float64)
        torch.distributed.all_reduce(message, group=self.control)
        return message.tolist()  # type: ignore[no-any-return,unused-ignore]

    def totals(self, batches: Sequence[Any]) -> tuple[float, Counts]:
        """What a step's loss is divided by, and what it works on, over all processes."""
        counts = Counts.of(batches)
        weight, *sums = self.exchange([sum(batch.weight for batch in batches), *asdict(counts).values()])
        return weight, Counts(*map(int, sums))

    def mean(self, value: torch.Tensor) -> torch.Tensor:
        """The mean over the processes of a device scalar, without waiting for the device."""
        if self.world == 1:
            return value
        torch.distributed.all_reduce(value)
        return value / self.world

    def gathered(self, item: Any) -> list[Any]:
        """Every process's `item` (anything picklable), in order of rank, on every process."""
        if self.world == 1:
            return [item]
        items: list[Any] = [None] * self.world
        torch.distributed.all_gather_object(items, item, group=self.control)
        return items

    def in_turn(self, work: Callable[[], Any], all_in_turn: bool = False) -> Any:
        """`work()` on the first process, then on the others (one after the other if `all_in_turn`). What fails on
        one stops all.
        """
        turns = self.world if all_in_turn else min(self.world, 2)
        result: Any = None
        failed: BaseException | None = None
        for turn in range(turns):
            if turn == (self.rank if all_in_turn else min(self.rank, 1)):
                try:
                    result = work()
                except BaseException as error:  # noqa: BLE001 - raised below, when the others know
                    failed = error
            failures = [rank for rank, bad in enumerate(self.gathered(failed is not None)) if bad]
            if failed is not None:
                raise failed
            if failures:
                raise TrainerError(OTHER, f"process {failures[0]} failed", "Its message tells why.")
        return result

    def leave(self) -> None:
        """Wait for the others, then end the communication."""
        if self.world > 1 and torch.distributed.is_initialized():
            from accelerate.state import AcceleratorState

            torch.distributed.barrier(group=self.control)
            torch.distributed.destroy_process_group()
            AcceleratorState._reset_state(reset_partial_state=True)


OTHER = "other-process"  # kind of the error that a process has because of another one's


class Entry(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """The module that wrappers wrap: its forward pass is whatever a task computes with the model, a scalar.

    It answers for the model where accelerate looks for layers, embedding and head.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.base_model_prefix = "base"

    @property
    def base(self) -> Any:
        return self.model.get_decoder()

    @property
    def _no_split_modules(self) -> Any:
        return self.model._no_split_modules

    def tie_weights(self) -> None:
        self.model.tie_weights()

    def get_input_embeddings(self) -> Any:
        return self.model.get_input_embeddings()

    def get_output_embeddings(self) -> Any:
        return self.model.get_output_embeddings()

    def forward(self, function: Callable[..., torch.Tensor], *arguments: Any) -> torch.Tensor:
        return function(*arguments)


@contextmanager
def join_group(settings: Settings) -> Iterator[Group]:
    """The group of this run, left at the end. Not after a failure: then the others may never come."""
    group = start(settings)
    yield group
    group.leave()


def start(settings: Settings) -> Group:
    """The group that torchrun or accelerate has started this process in, one process alone otherwise.

    TrainerError for a launcher's configuration that is not DDP or FSDP2.
    """
    world = int(os.environ.get("WORLD_SIZE") or 1)
    if world == 1:
        if settings.parallel == "fsdp2":
            raise TrainerError(
                "bad-setting", "parallel=fsdp2 needs several processes",
                "Start it as: torchrun --nproc-per-node N -m trainer TASK ...",
            )  # fmt: skip
        return Group()
    try:
        from accelerate import Accelerator
    except ImportError as error:
        raise TrainerError("no-accelerate", f"{world} processes need accelerate ({error})", "Install it.") from None
    kind = _kind(settings)
    if kind == "fsdp2" and settings.gradcache_chunk:
        raise TrainerError(
            "bad-setting", "gradcache_chunk computes passes within the backward pass, which FSDP2 does not allow",
            "Set parallel=ddp, or gradcache_chunk=0.",
        )  # fmt: skip
    cpu = settings.device == "cpu" or not torch.cuda.is_available()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # accelerate warns without; hardware.py decides the threads
    plugin = sharding.plugin() if kind == "fsdp2" else None
    accelerator = Accelerator(cpu=cpu, mixed_precision="no")
    if plugin is not None:
        accelerator.state.fsdp_plugin = plugin
    return Group(
        rank=accelerator.process_index, world=accelerator.num_processes,
        local_world=int(os.environ.get("LOCAL_WORLD_SIZE") or world), kind=kind, accelerator=accelerator,
        control=torch.distributed.new_group(backend="gloo", timeout=PATIENCE), exchange_in=settings.exchange,
        overlap=settings.overlap,
    )  # fmt: skip


def _kind(settings: Settings) -> str:
    environment: dict[str, str] = dict(os.environ)
    for name, what in (("ACCELERATE_USE_DEEPSPEED", "DeepSpeed"), ("ACCELERATE_USE_MEGATRON_LM", "Megatron-LM")):
        if environment.get(name, "false").lower() == "true":
            raise TrainerError(
                "bad-launch",
                f"the accelerate configuration asks for {what}",
                "Configure MULTI_GPU or FSDP version 2.",
            )
    launched = environment.get("ACCELERATE_USE_FSDP", "false").lower() == "true"
    if launched and environment.get("FSDP_VERSION", "1") != "2":
        raise TrainerError(
            "bad-launch", "the accelerate configuration asks for FSDP version 1", "Set fsdp_version: 2 in it."
        )
    if settings.parallel != "auto":
        return settings.parallel
    return "fsdp2" if launched else "ddp"


def choice(group: Group) -> Choice:
    """What the report says about the processes."""
    if group.world == 1:
        return Choice("parallel", "single", "one process")
    why = {"ddp": "every process has the whole model", "fsdp2": "weights, gradients and moments are sharded"}
    return Choice("parallel", f"{group.kind} x {group.world}", why[group.kind])
