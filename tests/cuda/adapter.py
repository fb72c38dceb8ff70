"""The trainer's modules, as the suite uses them: all imports of them are here. Runs in the child.

A run is the trainer's own `execute`, from settings to the last checkpoint. What it would need a device's numbers for is
answered as `watch` says, and nothing is written of tensors that have no content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._python_dispatch import _disable_current_modes

from tests.cuda.watch import Watch
from trainer import loop, run
from trainer.checkpoints import save
from trainer.compute import flops, parallel
from trainer.data.counts import Counts
from trainer.data.prepare import prepare
from trainer.data.tokenizer import load_tokenizer
from trainer.data.workloads import DATA
from trainer.measure import progress
from trainer.model import adapted, attention, build, fitting, kernels, liger, losses, memory, narrow, selective
from trainer.options.settings import from_mapping
from trainer.report import RunReport
from trainer.tasks import rft
from trainer.tasks.answers.sampling import Sampler, WantedAnswer

TOKENIZER, SUMS = str(DATA / "tokenizer"), str(DATA / "sums.jsonl")
CHUNK_BYTES = losses.CHUNK_BYTES


def lines_of_chats(count: int) -> list[str]:
    """The first bundled chats."""
    return (DATA / "chat.jsonl").read_text("utf-8").splitlines()[:count]


def shards(texts: str, folder: Path) -> None:
    """Token shards of a file of texts."""
    values = {"data": [texts], "tokenizer": TOKENIZER, "output": str(folder)}
    prepare(from_mapping(values, "set-up"), lambda _: None)


def chunk_bytes(size: int) -> None:
    """The loss is computed in pieces of so many bytes of logits."""
    losses.CHUNK_BYTES = size


def _with_others(totals: Callable[..., Any]) -> Callable[..., Any]:
    """A process has nothing of its own in a short step; the others, who are pretended, then do."""

    def summed(group: Any, batches: Any) -> Any:
        weight, counts = totals(group, batches)
        return weight or 1.0, counts

    return summed


class Trial:
    """One run of the trainer under a `watch`. `estimates`: by step, what the trainer thinks its peak is, bytes."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.report: Any = None
        self.estimates: list[float] = []
        self.formula: list[float] = []
        self.slots: list[int] = []  # computed in each step
        self.need: Any = None
        self.shapes: list[Any] = []  # by step: its passes (`trainer.model.peak.Pass`)
        # Bytes: the most while the model was made, what the run starts from, and the most after its last step.
        self.built = self.held = self.ended = 0
        self.checkpoint, self.saved = {"cuda": 0, "cpu": 0}, 0  # bytes of all checkpoints, and how many they are

    def execute(self, task: str, values: dict[str, Any]) -> None:
        """Run it; the trainer's own errors pass."""
        settings = from_mapping(values, "set-up", "default", task)
        self.report = RunReport(task, None)
        with self._replaced():
            run.execute(task, settings, {}, None, self.report, lambda text: None)
        self.ended = self.watch.peak

    @property
    def choices(self) -> dict[str, str]:
        """What the trainer decided by itself."""
        return {choice.what: choice.value for choice in self.report.choices} if self.report else {}

    @property
    def reasons(self) -> dict[str, str]:
        """And why."""
        return {choice.what: choice.reason for choice in self.report.choices} if self.report else {}

    @contextmanager
    def _replaced(self) -> Iterator[None]:
        replaced = [
            (run, "train", self._train(run.train)),
            (loop, "checkpoint", self._in_phase("checkpoint", loop.checkpoint)),
            (progress.Progress, "__call__", self._in_phase("log", progress.Progress.__call__)),
            (progress.Reader, "__call__", self._in_phase("log", progress.Reader.__call__)),
            (save.Saver, "save", lambda saver, name, tensors, state, part=None: self._saved(tensors)),
            (fitting, "fit", self._fit(fitting.fit)),
            (parallel.Group, "exchange", lambda group, values: [value * group.world for value in values]),
            (parallel.Group, "totals", _with_others(parallel.Group.totals)),
            (parallel.Group, "gathered", lambda group, item: [item] * group.world),
            (rft, "Sampler", RightAnswers),
        ]
        with instead(replaced), comparing(), tables_with_numbers():
            yield

    def _in_phase(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            before, self.watch.phase = self.watch.phase, phase
            try:
                return function(*args, **kwargs)
            finally:
                self.watch.phase = before

        return called

    def _fit(self, fit: Callable[..., Any]) -> Callable[..., Any]:
        def fitted(trainee: Any, prepared: Any, settings: Any, group: Any, *rest: Any) -> Any:
            prepared.source.step = _with_numbers(prepared.source.step)
            address = torch.UntypedStorage.data_ptr
            # Storages without content have no address; these are as different.
            torch.UntypedStorage.data_ptr = lambda storage: storage._cdata  # type: ignore[method-assign]
            self.built = self.watch.peak
            try:
                self.need = self._estimated(trainee, group)
                return fit(trainee, prepared, settings, group, *rest)
            finally:
                torch.UntypedStorage.data_ptr = address  # type: ignore[method-assign]

        return fitted

    def _train(self, train: Callable[..., None]) -> Callable[..., None]:
        def watched(current: Any, observers: list[Any], partial: Any = None) -> None:
            self.held = self.watch.live
            work, position = flops.work_of(current.trainee.model), [current.position]

            def edge(_: Any, now: Any) -> bool:
                self.watch.edge()
                batches = now.prepared.source.step(position[0].epoch, position[0].index)
                position[0] = now.position
                limit = now.slots_limit or max(batch.slots for batch in batches)
                passes = [one.within(limit) for one in memory.passes_of(batches, now.settings)]
                self.shapes.append(passes)
                chunk = now.trainee.loss_pieces.chunk_bytes or losses.CHUNK_BYTES
                self.estimates.append(self.need.most(now.settings.recompute, passes, chunk))
                self.formula.append(work.of(Counts.of(batches)))
                self.slots.append(sum(batch.slots for batch in batches))
                if now.position.step == now.settings.max_steps:
                    self.watch.phase = "end"
                return False

            self.watch.packed_attention = _packed_attention(current.trainee)
            self.watch.phase = "begin"
            self._begins_with_data(current.stopwatch)
            train(current, [*observers, edge], partial)

        return watched

    def _begins_with_data(self, stopwatch: Any) -> None:
        """The phase is that of steps from the first batch on."""
        mark = stopwatch.mark

        def marked(part: str) -> None:
            if part == "data" and self.watch.phase == "begin":
                self.watch.begin()
            mark(part)

        stopwatch.mark = marked

    def _estimated(self, trainee: Any, group: Any) -> Any:
        """The trainer's footprint of the model, taken without recomputation, as it does itself."""
        phase, self.watch.phase = self.watch.phase, "estimate"
        layers = [layer for layer in trainee.model.get_decoder().layers if hasattr(layer, "gradient_checkpointing")]
        before = [layer.gradient_checkpointing for layer in layers]
        hooks = torch.autograd.graph.saved_tensors_hooks
        torch.autograd.graph.saved_tensors_hooks = _forgetful(hooks)  # type: ignore[misc]
        try:
            for layer in layers:
                layer.gradient_checkpointing = False
            attention = trainee.attention.name if trainee.attention is not None else None
            return memory.footprint(trainee, group, products=selective.is_open(attention))
        finally:
            torch.autograd.graph.saved_tensors_hooks = hooks  # type: ignore[misc]
            for layer, value in zip(layers, before, strict=True):
                layer.gradient_checkpointing = value
            self.watch.phase = phase

    def _saved(self, tensors: Any) -> None:
        """What a checkpoint is made of, and where it lies when it is handed over."""
        self.saved += 1
        for group in tensors.values():
            for tensor in group.values():
                self.checkpoint[tensor.device.type] += tensor.numel() * tensor.element_size()


def _with_content(answers: Callable[..., Any]) -> Callable[..., Any]:
    """The own answer, which comes from numbers of its own and takes sizes alone from what it is asked of."""

    def answered(*asked: Any, **named: Any) -> Any:
        with _disable_current_modes():
            return answers(*asked, **named)

    return answered


@contextmanager
def instead(replaced: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """(owner, name, value): while this lasts, the owner has that value under that name."""
    before = [(owner, name, owner.__dict__[name]) for owner, name, _ in replaced]
    for owner, name, value in replaced:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def comparing() -> Any:
    """A context in which what the trainer finds out by numbers is found out by numbers."""
    asked = ((kernels, "is_norm"), (kernels, "_is_rotary"), (liger, "is_gated"))
    return instead([(owner, name, _with_content(getattr(owner, name))) for owner, name in asked])


def tables_with_numbers() -> Any:
    """A context in which bitsandbytes, where it is, makes its table of 256 values of values."""
    if not find_spec("bitsandbytes"):
        return nullcontext()
    from bitsandbytes import functional

    return instead([(functional, "create_dynamic_map", _with_content(functional.create_dynamic_map))])


def _forgetful(hooks: Any) -> Any:
    """Hooks that let go of a graph with the last of its tensors. A run with a given recomputation makes no estimate,
    so ours must not leave a graph behind, as a hook does that returns the tensor which its node has made.
    """

    def made(pack: Any, unpack: Any) -> Any:
        return hooks(lambda tensor: pack(tensor).detach(), unpack)

    return made


def _packed_attention(trainee: Any) -> Callable[[bool], float]:
    """FLOPs of attention over the documents of the row in work, forward or backward (five products for two)."""
    config, attention = trainee.model.config, trainee.attention

    def flops_of(backward: bool) -> float:
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        squares = sum(length * length for length in attention.lengths)
        products = (5 if backward else 2) / (2 if attention.causal else 1)
        return float(2 * products * config.num_attention_heads * width * squares)

    return flops_of


def _with_numbers(step: Callable[..., Any]) -> Callable[..., Any]:
    """Batches keep their content, also where the training thread makes one."""

    def real(epoch: int, index: int) -> Any:
        with unset_fake_temporarily():
            return step(epoch, index)

    return real


def traceable(tokens: int) -> Any:
    """The trainer's attention as compiled layers have it, in a row of one document."""
    from torch.nn.attention.varlen import varlen_attn

    state = attention.DocumentAttention("varlen", attention.varlen_path(varlen_attn))
    state.varlen, state.traced = varlen_attn, True
    state.enter((tokens,), torch.empty(2, dtype=torch.int32, device="cuda"))
    return state


def hold_frozen(layer: Any, fused: bool) -> None:
    """As adapters have their layers in bfloat16; fused: in one node with each."""
    build.hold_frozen(layer, torch.bfloat16)
    for module in layer.modules():
        if hasattr(module, "cast_input_dtype_enabled"):
            module.cast_input_dtype_enabled = False
    if fused:
        adapted.install(layer)


@contextmanager
def narrow_layer(layer: Any, compiled: bool) -> Iterator[None]:
    """As a narrow residual stream has it; compiled layers turn positions by the model's own function."""
    for module in layer.modules():
        if type(module).__name__.endswith("RMSNorm"):
            kernels.replace_forward(module, narrow._narrow)
    traced = instead([(owner, "is_compiling", lambda: True) for owner in (kernels, adapted)])
    with comparing(), traced if compiled else kernels.rotary_kernels(SimpleNamespace(get_decoder=lambda: layer)):
        yield


class RightAnswers:
    """In the place of rft's sampler: every answer is right. Sampling has tests of its own; here it is trained."""

    longest = None

    def __init__(self, settings: Any, workload: Any, tokenizer: Any) -> None:
        rows = [json.loads(line) for line in Path(settings.data[0]).read_text("utf-8").splitlines()]
        self.right = [str(row[settings.answer_field]) for row in rows]

    def answers(self, batch: Any) -> list[Any]:
        """As Sampler.answers."""
        return [rft.Answer(wanted.prompt, wanted.sample, self.right[wanted.prompt], 4, True) for wanted in batch]


def sample(values: dict[str, Any], lengths: list[int]) -> None:
    """Answers to prompts of so many tokens, by the trainer's own sampler, which has as many random numbers as tokens
    are asked for: no token has content, so none ends an answer, and the next one finds no number left.
    """
    settings = from_mapping(values, "set-up", "default", "rft")
    sampler = Sampler(settings, None, load_tokenizer(settings, None))
    with suppress(IndexError):
        sampler.answers([WantedAnswer(number, 0, (5,) * length) for number, length in enumerate(lengths)])
