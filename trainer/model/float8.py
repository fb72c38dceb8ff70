"""Products of wide layers in 8 bits, through torchao: weights, their gradients and all else stay as they are.

Each row of a factor is scaled by its largest value. torchao's documentation has 1.2 to 1.3 times the speed for 8B
models on H100s (torchtitan's table of December 2024: 6,667 to 8,532 tokens/s), in compiled layers and wide ones only;
nothing of it was measured here. On a CPU the rounding is imitated, which tells what it does to a loss.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from trainer.compute import extras
from trainer.errors import TrainerError, in_one_line
from trainer.report import Choice

LEAST = 2048  # of both sides of a matrix: casting the factors of smaller ones costs what their product saves


def install(model: Any, device: torch.device, dtype: torch.dtype) -> Choice:
    """The model's wide linear layers multiply in 8 bits from now on, under the names that they had.

    TrainerError without torchao, a GPU that can, or products in bfloat16 beside them.
    """
    if dtype != torch.bfloat16:
        raise TrainerError(
            "bad-setting", "float8 needs precision=bfloat16 for all else", "Set it, or leave float8 out."
        )
    library = extras.load("torchao.float8", "float8=rowwise")
    config = library.Float8LinearConfig.from_recipe_name("rowwise")
    # A row has as many tokens as its documents; the hardware multiplies sixteen at a time.
    config = dataclasses.replace(config, emulate=device.type == "cpu", pad_inner_dim=True)
    _try(config, library.convert_to_float8_training, device)
    head, count = model.get_output_embeddings(), 0

    def is_wide(module: Any, name: str) -> bool:  # noqa: ARG001 - torchao's signature
        nonlocal count
        wide = module is not head and min(module.in_features, module.out_features) >= LEAST
        wide = wide and module.in_features % 16 == module.out_features % 16 == 0
        count += wide
        return bool(wide)

    library.convert_to_float8_training(model, config=config, module_filter_fn=is_wide)
    how = "imitated" if config.emulate else "fast in compiled layers only"
    return Choice("float8", "rowwise", f"products of {count} linear layers that are {LEAST} and wider; {how}")


def _try(config: Any, convert: Any, device: torch.device) -> None:
    """Both passes of one layer. TrainerError with what the device says."""
    layer = torch.nn.Sequential(torch.nn.Linear(64, 64, bias=False, device=device))
    try:
        convert(layer, config=config)
        given = torch.ones(32, 64, dtype=torch.bfloat16, device=device, requires_grad=True)
        with torch.autocast(device.type, torch.bfloat16):
            layer(given).sum().backward()
    except Exception as error:  # noqa: BLE001 - kernels raise what they like
        raise TrainerError(
            "no-float8", f"float8: a trial product failed: {in_one_line(error, 200)}", "Leave float8 out."
        ) from None
