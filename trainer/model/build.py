"""The model in training: built or loaded, with its attention, its precision and a check that packed documents do not
leak.
"""

from __future__ import annotations

import json
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import torch

from trainer.compute import flops, hostmemory
from trainer.compute.hardware import DTYPES, choose_device, choose_precision, choose_threads
from trainer.data.batches import Batch, pack
from trainer.data.workloads import Workload
from trainer.errors import TrainerError
from trainer.model import attention as attentions
from trainer.model import float8, kernels, liger, narrow, quantized, selective, unreadable
from trainer.model.losses import Pieces
from trainer.model.noise import EmbeddingNoise
from trainer.model.peak import again, between
from trainer.model.trial import Heads
from trainer.options.settings import Settings
from trainer.report import Choice, Model

# Largest relative difference between a document computed alone and in a packed row that rounding explains, by
# precision.
TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 6e-2, torch.float16: 1e-2}
HOST = (torch.device("cpu"), torch.float32)
TF32_TOLERANCE = 1e-2  # TF32 keeps as many bits of a factor as float16


@dataclass
class Trainee:
    """A causal language model and how it is computed. `held` is closed at the end of the run."""

    model: Any
    device: torch.device
    dtype: torch.dtype
    attention: attentions.DocumentAttention | None
    choices: list[Choice]
    held: ExitStack = field(default_factory=ExitStack)
    own_logits: bool = False  # the model does more to its logits than one matrix product
    implementation: str | None = None  # the name under which the model finds its attention; None: transformers' choice
    noise: EmbeddingNoise | None = None
    adapters: Any = None  # peft's view of the model, when adapters are trained instead of its weights
    loss_pieces: Pieces = field(default_factory=Pieces)
    through: Callable[..., Any] = field(
        default=lambda function, *given: function(*given)
    )  # where a wrapper wants calls

    def computing(self) -> Any:
        """Context of a forward pass: autocast, unless everything is float32."""
        return nullcontext() if self.dtype == torch.float32 else torch.autocast(self.device.type, dtype=self.dtype)

    def hidden(self, batch: Batch, causal: bool = True) -> torch.Tensor:
        """Last hidden states as (rows x tokens, width).

        Packed rows attend within documents, fully when `causal` is off.
        """
        self._announce(batch, causal)
        output = self.model.get_decoder()(**batch.inputs, use_cache=False)
        return output.last_hidden_state.flatten(0, 1)

    def logits(self, batch: Batch) -> torch.Tensor:
        """The model's own logits at every position as (rows x tokens, vocabulary)."""
        self._announce(batch)
        return self.model(**batch.inputs, use_cache=False).logits.flatten(0, 1)

    def _announce(self, batch: Batch, causal: bool = True) -> None:
        if self.attention is not None and "position_ids" in batch.inputs:
            self.attention.enter(batch.lengths, batch.borders, causal)
        if self.noise is not None:
            self.noise.enter(batch)

    @property
    def head(self) -> torch.Tensor:
        """Weight of the output head, (vocabulary, width)."""
        return self.model.get_output_embeddings().weight


@dataclass(frozen=True)
class Place:
    """How a process holds the model. processes: those that share this machine; frozen: its weights are not trained;
    sharded: it stays on the host, unchecked, until it is (`trainer.compute.sharding`); hollow: in shapes without
    content, since another process has the weights.
    """

    processes: int = 1
    frozen: bool = False
    sharded: bool = False
    hollow: bool = False


def build(settings: Settings, workload: Workload | None, place: Place = Place()) -> Trainee:
    """The model the settings ask for, on its device, in training mode and checked.

    Frozen weights come to the device in the format in which they stay. TrainerError says what is wrong.
    """
    device, device_choice = choose_device(settings.device)
    precision = choose_precision(settings.precision, device)
    choices = [device_choice, precision, choose_threads(settings.threads, place.processes)]
    dtype = DTYPES[precision.value]
    # None: transformers takes its SDPA, or what stands in for it in models that have none (Gemma 2 soft caps).
    attention, implementation, held = None, None, ExitStack()
    if settings.attention == "model":
        choices.append(Choice("attention", "model", "asked for: transformers' own, with padding masks"))
    elif not settings.packing:
        choices.append(Choice("attention", "model", "rows are padded, not packed: transformers' own, with masks"))
    else:
        heads = Heads.of(_config(settings, workload))
        attention, why = attentions.choose(
            settings.attention, device, dtype, heads, settings.tokens_per_row, settings.flash, settings.kernels
        )
        implementation, context, way = attentions.install(attention)
        held.enter_context(context)
        choices += [Choice("attention", attention.name, why), Choice("attention-hook", implementation, way)]
    if attention is None or attention.name == "documents":
        held.enter_context(attentions.changing_shapes(device))
    torch.manual_seed(settings.seed)
    try:
        model = load_model(settings, workload, implementation, (device, dtype), place.frozen, place.hollow)
        if place.frozen:
            model.requires_grad_(False)
            hold_frozen(model, dtype)
        quantized.keep_gradients(model)
        model = (model if place.sharded or quantized.is_quantized(model) else model.to(device)).train()
        if settings.float8 != "off":
            choices.append(float8.install(model, device, dtype))
        if settings.recompute not in ("auto", "none"):
            recompute(model, settings.recompute, settings.recompute_rng, attention.name if attention else None)
        if device.type in narrow.DEVICES and dtype == torch.bfloat16 and settings.residual == "auto":
            choices.append(held.enter_context(narrow.narrow_states(model, dtype, settings.kernels == "auto")))
        elif device.type == "cpu" and dtype in (torch.float32, torch.bfloat16) and settings.kernels == "auto":
            choices.append(held.enter_context(kernels.install_kernels(model)))
        if settings.kernels == "off":
            choices.append(Choice("kernels", "the model's own", "asked for"))
        if settings.liger == "auto":
            choices.append(_liger(held, model, device, dtype))
        trainee = Trainee(model, device, dtype, attention, choices, held, implementation=implementation)
        if settings.neftune_noise_alpha:
            trainee.noise = EmbeddingNoise(model, settings.neftune_noise_alpha, settings.seed)
            held.callback(trainee.noise.remove)
        if not place.sharded:
            check(trainee)
    except BaseException:
        held.close()
        raise
    return trainee


def _liger(held: ExitStack, model: Any, device: torch.device, dtype: torch.dtype) -> Choice:
    if device.type not in liger.DEVICES:
        return Choice("liger", "off", "its kernels are for GPUs")
    return held.enter_context(liger.install(model, device, dtype))


def load_model(
    settings: Settings,
    workload: Workload | None,
    implementation: str | None,
    place: tuple[torch.device, torch.dtype] = HOST,
    frozen: bool = False,
    hollow: bool = False,
) -> Any:
    """The model in float32 on the host, from its folder, or with random weights from torch's present seed; what
    `quantize` asks for is narrower, at the place, for products in its precision.

    frozen: in the number format of its files; hollow: its parameters have shapes and no content.
    """
    if hollow:
        from accelerate import init_empty_weights

        with init_empty_weights(include_buffers=False):
            model = _load(settings, workload, implementation, in_precision(torch.float32), hollow=True)
        model.tie_weights()  # empty parameters are made anew one by one
        return model
    packed_narrow = quantized.options(settings, *place)
    dtype = "auto" if frozen and not packed_narrow else torch.float32
    return _load(settings, workload, implementation, {**in_precision(dtype), **packed_narrow})


def _load(
    settings: Settings, workload: Workload | None, implementation: str | None, how: dict[str, Any], hollow: bool = False
) -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # the run has one of its own
    if settings.model:
        folder = Path(settings.model)
        if not (folder / "config.json").is_file():
            raise TrainerError(
                "no-model", f"{folder}: no config.json there", "Give a folder written by save_pretrained."
            )
        with unreadable.loading_errors(folder, "Check the files of that folder."):
            if hollow:
                known = AutoConfig.from_pretrained(folder)
                return AutoModelForCausalLM.from_config(known, attn_implementation=implementation, **how)
            return AutoModelForCausalLM.from_pretrained(folder, attn_implementation=implementation, **how)
    if settings.model_config:
        path = Path(settings.model_config)
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise TrainerError(
                "bad-model", f"{path}: {error}", "Give a JSON file with a model configuration."
            ) from None
    elif workload:
        values = workload.config
    else:
        raise TrainerError("no-model", "nothing to train", "Set workload, model or model_config.")
    origin = Path(settings.model_config) if settings.model_config else Path("model configuration")
    with unreadable.loading_errors(origin, "Name a model_type this transformers knows, with values that it takes."):
        values = dict(values)
        config = AutoConfig.for_model(values.pop("model_type"), **values)
        return AutoModelForCausalLM.from_config(config, attn_implementation=implementation)


def _config(settings: Settings, workload: Workload | None) -> dict[str, Any]:
    """The model's configuration as it is written; {} where it cannot be read, which loading will tell."""
    path = Path(settings.model) / "config.json" if settings.model else Path(settings.model_config or "")
    if not settings.model and not settings.model_config:
        return workload.config if workload else {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def hold_frozen(model: Any, dtype: torch.dtype) -> None:
    """Frozen matrices of linear layers in `dtype`, all else in float32. Norms, biases and an untied embedding feed the
    residual stream, which is as precise as they are.
    """
    matrices = {
        id(module.weight) for module in model.modules()
        if isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D"
    }  # fmt: skip
    for parameter in model.parameters():
        if not parameter.requires_grad and parameter.is_floating_point():  # what is quantised stays as it is
            parameter.data = parameter.data.to(dtype if id(parameter) in matrices else torch.float32)


def in_precision(dtype: Any) -> dict[str, Any]:
    """`from_pretrained`'s option for the precision of the weights, under the name that this transformers has for it."""
    import transformers

    return {"dtype" if int(transformers.__version__.partition(".")[0]) >= 5 else "torch_dtype": dtype}


def size(model: Any) -> Model:
    """The report's counts of weights: all, and those that are trained."""
    parameters = list(model.parameters())
    return Model(sum(map(flops.weights_in, parameters)), sum(p.numel() for p in parameters if p.requires_grad))


def layers_of(model: Any) -> Any:
    """The decoder's layers, whatever the model calls them (`layers`; GPT-2's `h`). TrainerError when it has none."""
    for module in model.get_decoder().children():
        if isinstance(module, torch.nn.ModuleList):
            return module
    raise TrainerError(
        "no-layers", f"{type(model).__name__} has no list of layers", "Give a decoder-only language model."
    )


def compile_layers(trainee: Trainee) -> str:
    """torch.compile every decoder layer in place: equal layers share one compilation, and no name changes. Returns what
    becomes of attention, in words.
    """
    how = "the model's own attention in the graph"
    if trainee.attention is not None and trainee.implementation:
        config = trainee.model.config
        how = attentions.for_compiled_layers(trainee.attention, trainee.implementation, config)
    for layer in layers_of(trainee.model):
        layer.compile()
    return how


def recompute(model: Any, rung: str, same_masks: bool, attention: str | None = None) -> None:
    """Activation checkpointing of all decoder layers ("full"), every other one ("alternate") or so many of the first,
    as a whole or between their products ("selective"; "2+3": two as a whole, three behind them), non-reentrant: the
    other kind fails under adapters, whose inputs lack gradients. On the host, what it frees leaves the process.

    TrainerError when dropout's masks would not be repeated: torch documents that gradients are then wrong; or what says
    that these layers cannot be computed again between their products. attention: its path, None for the model's own.
    """
    if not same_masks:
        dropping = sorted(
            name for name, value in model.config.to_dict().items()
            if ("dropout" in name or name.endswith(("pdrop", "drop"))) and isinstance(value, float) and value > 0
        )  # fmt: skip
        if dropping or any(isinstance(module, torch.nn.Dropout) and module.p > 0 for module in model.modules()):
            raise TrainerError(
                "wrong-gradients",
                f"recompute_rng=false, but this model drops out ({', '.join(dropping) or 'a Dropout layer'}): the "
                "recomputation would draw other masks",
                "Leave recompute_rng on, or set the dropout to 0 in the model's configuration.",
            )
    options = {"use_reentrant": False, "preserve_rng_state": same_masks}
    if hasattr(model, "activation_checkpointing_enable"):  # its name from transformers 5.2x on
        model.activation_checkpointing_enable(options)
    else:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=options)
    if model.device.type == "cpu":
        hostmemory.give_back()
    layers = layers_of(model)
    some = between(rung, len(layers))
    if some and (why := selective.why_not(model, layers, attention)):
        raise TrainerError("not-selective", f"recompute={rung}: {why}", "Set recompute=auto, or to a number of layers.")
    for place, layer in enumerate(layers):
        if place in some:
            selective.install(layer)
        elif place not in again(rung, len(layers)):
            layer.gradient_checkpointing = False


def check(trainee: Trainee) -> None:
    """Two probes of a few tokens: does a second document change when one is packed before it, and is the head one
    product?
    """
    vocabulary = trainee.head.shape[0]
    first, second = ([(7 * n + shift) % vocabulary for n in range(size)] for shift, size in ((1, 9), (3, 6)))
    alone, both = (
        pack([(ids, [1] * len(ids)) for ids in row]).to(trainee.device) for row in ([second], [first, second])
    )
    tolerance = TOLERANCE[trainee.dtype]
    if quantized.is_quantized(trainee.model):  # eight bits of a row's values are those of its company
        tolerance = max(tolerance, TOLERANCE[torch.bfloat16])
    if trainee.device.type == "cuda" and torch.get_float32_matmul_precision() != "highest":
        tolerance = max(tolerance, TF32_TOLERANCE)

    def hidden(batch: Batch) -> torch.Tensor:
        states: torch.Tensor = trainee.through(trainee.hidden, batch)
        return states

    trainee.model.eval()  # dropout would make any two passes differ
    try:
        with torch.no_grad(), trainee.computing():
            if trainee.attention is not None:
                apart, together = hidden(alone), hidden(both)[len(first) :]
                if _difference(apart, together) > tolerance:
                    raise TrainerError(
                        "documents-leak",
                        "with this model a document's states depend on its neighbours in a packed row",
                        "Train it with packing=false and attention=model.",
                    )
                product = trainee.through(lambda: torch.nn.functional.linear(trainee.hidden(alone), trainee.head))
                trainee.own_logits = _difference(trainee.through(trainee.logits, alone), product) > tolerance
    finally:
        trainee.model.train()
    if trainee.own_logits:
        trainee.choices.append(
            Choice("head", "all", "this model's logits are more than one product of hidden states and head")
        )


def _difference(left: torch.Tensor, right: torch.Tensor) -> float:
    """Largest absolute difference relative to the largest value."""
    left, right = left.float(), right.float()
    return float((left - right).abs().max() / right.abs().max().clamp_min(1e-12))
