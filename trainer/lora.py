"""Low-rank adapters on a frozen model, through peft, put into the model in place.

Three things differ from peft's defaults: the frozen matrices are held in the compute precision (autocast would cast
them anew in every forward, and they need no master copy), the adapters are float32 masters, and their inputs are not
cast to float32 first, which under autocast only costs memory: the products run in the compute precision either way.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, List

import torch

from trainer.errors import TrainerError
from trainer.hardware import Choice
from trainer.model import Trainee
from trainer.settings import Settings


def rank_of(settings: Settings, unsaid: int) -> int:
    """The adapters' rank; `unsaid` is the task's own choice where the setting leaves it open (-1)."""
    return unsaid if settings.lora_rank < 0 else settings.lora_rank


def add(trainee: Trainee, settings: Settings, unsaid: int = 0) -> None:
    """Freeze the model and give it adapters; rank 0 changes nothing. TrainerError names a target that is not there."""
    rank = rank_of(settings, unsaid)
    if rank == 0:
        return
    try:
        from peft import LoraConfig, get_peft_model
        from peft.tuners.lora import LoraLayer
    except ImportError as error:
        raise TrainerError(
            "no-peft", "lora_rank=%d, but peft cannot be imported (%s)" % (rank, error), "Install peft."
        ) from None
    names = targets(trainee.model, settings.lora_targets)
    alpha = settings.lora_alpha or 2.0 * rank
    config = LoraConfig(
        r=rank, lora_alpha=alpha, lora_dropout=settings.lora_dropout, target_modules=names, task_type="CAUSAL_LM"
    )
    trainee.adapters = get_peft_model(trainee.model, config, autocast_adapter_dtype=False)
    count = 0
    for module in trainee.model.modules():
        if isinstance(module, LoraLayer):
            module.cast_input_dtype_enabled = False
            count += 1
    _hold_frozen(trainee.model, trainee.dtype)
    reason = "alpha %g on %d layers (%s); all else is frozen, in %s" % (
        alpha, count, ", ".join(names), str(trainee.dtype).replace("torch.", ""),
    )  # fmt: skip
    trainee.choices.append(Choice("lora", "rank %d" % rank, reason))


def targets(model: Any, wanted: str) -> List[str]:
    """Last names of the layers to adapt: every linear layer below the head for "auto", else the comma-separated ones.

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
    names = [name.strip() for name in wanted.split(",")]
    for name in names:
        if name not in linear:
            raise TrainerError(
                "unknown-layer",
                "lora_targets: this model has no linear layer %r below its head" % name,
                "The layers are %s." % ", ".join(sorted(linear)),
            )
    return names


def save(trainee: Trainee, folder: Path) -> None:
    """Write adapter_config.json and adapter_model.safetensors, as `peft.PeftModel.from_pretrained` reads them."""
    trainee.adapters.save_pretrained(str(folder))


def merge(trainee: Trainee) -> None:
    """Fold the adapters into the weights and take them out; the model is a plain one again, in float32.

    In bfloat16 an update below 1/256 of a weight would be rounded away.
    """
    trainee.model.float()
    trainee.model = trainee.adapters.merge_and_unload()
    trainee.adapters = None


def _hold_frozen(model: Any, dtype: torch.dtype) -> None:
    """Frozen matrices of linear layers in `dtype`. Norms, biases and an untied embedding stay float32: they feed the
    residual stream, which autocast keeps in float32 too.
    """
    for module in model.modules():
        weight = getattr(module, "weight", None)
        is_matrix = isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D"
        if is_matrix and isinstance(weight, torch.nn.Parameter) and not weight.requires_grad:
            weight.data = weight.data.to(dtype)
