"""The trained model at the end of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import torch

from trainer.checkpoints import save
from trainer.compute import sharding
from trainer.model import lora
from trainer.model.quantized import is_quantized
from trainer.report import Choice
from trainer.state import Run

FORMATS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def publish(run: Run, base: str | None, describe: Callable[[Path], None]) -> str | None:
    """Write the model (or its adapters) into the run folder; returns where it is, None in all processes but the first.

    The model trains no more after this. `base`: the model it began from, as it was given. `describe` adds what tells
    of it to a folder that is about to be published.
    """
    sharding.unshard(run.trainee.model, run.group.first)
    if not run.group.first:
        return None
    folder, trainee, tokenizer = Path(run.settings.output), run.trainee, run.prepared.tokenizer
    if trainee.adapters is not None:

        def adapter(target: Path) -> None:
            lora.save(trainee, target)
            _name_base(target / "adapter_config.json", base)
            tokenizer.save_pretrained(target)
            describe(target)

        save.publish(folder / "adapter", adapter)
        if not run.settings.merge_lora:
            return str(folder / "adapter")
        if is_quantized(trainee.model):
            lora.over_whole_weights(trainee, run.settings, folder / "adapter")
        lora.merge(trainee)
    precision, why = written_in(run.settings.save_precision, run.settings.model)
    trainee.choices.append(Choice("saved-as", str(precision).replace("torch.", ""), why))

    def fill(target: Path) -> None:
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        _end_as(trainee.model, tokenizer.eos_token_id)
        trainee.model.to(precision).save_pretrained(target)
        tokenizer.save_pretrained(target)
        describe(target)

    save.publish(folder / "model", fill)
    return str(folder / "model")


def _end_as(model: Any, end: int | None) -> None:
    """Whoever loads the model stops at the token that ended its answers in training, as transformers' Trainer sees to
    it; a configuration may name another, above all that of a model trained from random weights.
    """
    known = getattr(model.generation_config, "eos_token_id", None)
    others = [known] if isinstance(known, int) else list(known or [])
    if end is not None and end not in others:
        model.generation_config.eos_token_id = [end, *others]


def _name_base(config: Path, base: str | None) -> None:
    """An adapter names its model as people know it, and not by its place in this machine's cache."""
    values = json.loads(config.read_text(encoding="utf-8"))
    values["base_model_name_or_path"] = str(Path(base).resolve()) if base and Path(base).is_dir() else base
    config.write_text(json.dumps(values, indent=2), encoding="utf-8")


def written_in(wanted: str, model: str | None) -> tuple[torch.dtype, str]:
    """The format of the trained model's weights, and why: the one asked for, else that of the model it began from."""
    if wanted != "checkpoint":
        return FORMATS[wanted], "asked for"
    config: dict[str, Any] = {}
    if model:
        try:
            config = json.loads((Path(model) / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            config = {}
    name = str(config.get("dtype") or config.get("torch_dtype") or "float32")
    if name in FORMATS and config:
        return FORMATS[name], "as in the model it began from"
    return torch.float32, "weights are trained in float32"
