"""Low-rank adapters on a frozen model, through peft, put into the model in place.

Three things differ from peft's defaults: the frozen matrices are held in the compute precision (autocast would cast
them anew in every forward, and they need no master copy), the adapters are float32 masters, and their inputs are not
cast to float32 first, which under autocast only costs memory: the products run in the compute precision either way.
"""

from __future__ import annotations

import fnmatch
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from trainer.errors import TrainerError
from trainer.model import adapted
from trainer.model.build import Trainee, hold_frozen, load_model
from trainer.options.settings import Settings
from trainer.report import Choice


def rank_of(settings: Settings, unsaid: int) -> int:
    """The adapters' rank; `unsaid` is the task's own choice where the setting leaves it open (-1)."""
    return unsaid if settings.lora_rank < 0 else settings.lora_rank


def freezes(settings: Settings, unsaid: int = 0) -> bool:
    """Does `add` freeze the model?"""
    return rank_of(settings, unsaid) > 0 or bool(settings.adapter)


def add(trainee: Trainee, settings: Settings, unsaid: int = 0) -> None:
    """Freeze the model and give it adapters; rank 0 changes nothing. TrainerError names a target that is not there."""
    rank = rank_of(settings, unsaid)
    if rank == 0 and not settings.adapter:
        if settings.quantize != "none":
            raise TrainerError(
                "bad-setting", f"quantize={settings.quantize} freezes the weights, and there are no adapters to train",
                "Give lora_rank, 16 for example.",
            )  # fmt: skip
        return
    try:
        from peft import LoraConfig, PeftModel, get_peft_model
        from peft.tuners.lora import LoraLayer
    except ImportError as error:
        raise TrainerError(
            "no-peft", f"lora_rank={rank}, but peft cannot be imported ({error})", "Install peft."
        ) from None
    if settings.adapter:
        config = _read_adapter_config(settings.adapter)
        trainee.adapters = PeftModel.from_pretrained(
            trainee.model, settings.adapter, is_trainable=True, autocast_adapter_dtype=False
        )
        trainee.adapters.float()  # masters, whatever they were written in
        rank, alpha, names = config.r, config.lora_alpha, sorted(config.target_modules)
    else:
        names = targets(trainee.model, settings.lora_targets)
        alpha = settings.lora_alpha or 2.0 * rank
        config = LoraConfig(
            r=rank, lora_alpha=alpha, lora_dropout=settings.lora_dropout, target_modules=names, task_type="CAUSAL_LM",
            use_dora=settings.dora, use_rslora=settings.rslora, base_model_name_or_path=settings.model,
            fan_in_fan_out=any(type(module).__name__ == "Conv1D" for module in trainee.model.modules()),
        )  # fmt: skip
        trainee.adapters = get_peft_model(trainee.model, config, autocast_adapter_dtype=False)
    count = 0
    for module in trainee.model.modules():
        if isinstance(module, LoraLayer):
            module.cast_input_dtype_enabled = False
            count += 1
    hold_frozen(trainee.model, trainee.dtype)
    for parameter in trainee.model.parameters():
        if parameter.requires_grad:  # masters, though peft makes them in the format of what they are added to
            parameter.data = parameter.data.float()
    whole = adapted.install(trainee.model) if settings.lora_fused else 0
    held = str(trainee.dtype).replace("torch.", "") if settings.quantize == "none" else settings.quantize
    reason = f"alpha {alpha:g} on {count} layers ({', '.join(names[:8])}); all else is frozen, in {held}"
    reason += f"; {whole} are one node with their layer" if whole else ""
    kind = ("DoRA, " if config.use_dora else "") + ("rsLoRA, " if config.use_rslora else "")
    trainee.choices.append(Choice("lora", f"{kind}rank {rank}", reason))


def _read_adapter_config(folder: str) -> Any:
    """The configuration of a LoRA adapter in safetensors. TrainerError when there is none."""
    from peft import LoraConfig, PeftConfig

    if (
        not (Path(folder) / "adapter_config.json").is_file()
        or not (Path(folder) / "adapter_model.safetensors").is_file()
    ):
        raise TrainerError(
            "no-adapter", f"{folder}: no adapter_config.json and adapter_model.safetensors there",
            "Give the folder `adapter` of a run, or one that peft has written.",
        )  # fmt: skip
    try:
        config = PeftConfig.from_pretrained(folder)
    except (ValueError, TypeError, KeyError) as error:
        raise TrainerError("no-adapter", f"{folder}: {error}", "Check its adapter_config.json.") from None
    if not isinstance(config, LoraConfig):
        raise TrainerError("no-adapter", f"{folder}: an adapter of another kind ({config.peft_type})", "Give LoRA's.")
    return config


def targets(model: Any, wanted: str) -> list[str]:
    """Last names of the layers to adapt: every linear layer below the head for "auto", else the comma-separated ones;
    whole names of those that a pattern matches.

    TrainerError when one is absent, or is the head (the loss multiplies by the head's weight itself).
    """
    head = model.get_output_embeddings()
    linear = {
        name.rpartition(".")[2]: module
        for name, module in model.named_modules()
        if module is not head and (isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D")
    }
    if wanted == "auto":
        return sorted(linear)
    names: list[str] = []
    for name in (part.strip() for part in wanted.split(",")):
        if set(name) & set("*?[."):
            matching = [
                whole for whole, module in model.named_modules()
                if linear.get(whole.rpartition(".")[2]) is not None and fnmatch.fnmatchcase(whole, name)
                and (isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D") and module is not head
            ]  # fmt: skip
            if not matching:
                example = next(whole for whole, module in model.named_modules() if module in linear.values())
                raise TrainerError(
                    "unknown-layer", f"lora_targets: no linear layer's name matches {name!r}",
                    f"Whole names look like {example}.",
                )  # fmt: skip
            names += matching
            continue
        names.append(name)
        if name not in linear:
            raise TrainerError(
                "unknown-layer",
                f"lora_targets: this model has no linear layer {name!r} below its head",
                f"The layers are {', '.join(sorted(linear))}.",
            )
    return names


def save(trainee: Trainee, folder: Path) -> None:
    """Write adapter_config.json and adapter_model.safetensors, as `peft.PeftModel.from_pretrained` reads them."""
    trainee.adapters.save_pretrained(str(folder))


def over_whole_weights(trainee: Trainee, settings: Settings, saved: Path) -> None:
    """In place of a model whose frozen weights are narrow: that model as it was before, under the adapters `saved`."""
    from peft import PeftModel

    trainee.model = load_model(replace(settings, quantize="none"), None, "sdpa")
    trainee.adapters = PeftModel.from_pretrained(trainee.model, str(saved))


def merge(trainee: Trainee) -> None:
    """Fold the adapters into the weights and take them out; the model is a plain one again, in float32: in which format
    it is written is another question, and the sum should be rounded once.
    """
    trainee.model.float()
    trainee.model = trainee.adapters.merge_and_unload()
    trainee.adapters = None
