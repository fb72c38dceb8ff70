"""Frozen weights in 8 or 4 bits, through bitsandbytes (QLoRA, arXiv 2305.14314): a model is loaded narrow, and only its
adapters are trained. On CPUs too; head, embeddings and norms stay as they are.
"""

from __future__ import annotations

import logging
from typing import Any

import torch

from trainer.compute import extras
from trainer.errors import TrainerError
from trainer.options.settings import Settings


def options(settings: Settings, device: torch.device, dtype: torch.dtype) -> dict[str, Any]:
    """What `from_pretrained` is told so that it loads the settings' way; {} for plain weights.

    dtype: of the products. TrainerError where there is nothing to quantise, or nothing to do it with.
    """
    if settings.quantize == "none":
        return {}
    if not settings.model:
        raise TrainerError(
            "bad-setting", f"quantize={settings.quantize} holds trained weights, and there is no model to start from",
            "Give model, or leave quantize out.",
        )  # fmt: skip
    extras.load("bitsandbytes", f"quantize={settings.quantize}")
    from transformers import BitsAndBytesConfig

    if settings.quantize == "4bit":
        found = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=dtype
        )
    else:
        found = BitsAndBytesConfig(load_in_8bit=True)
        # It says of each product that its inputs become float16, which is how this format works.
        logging.getLogger("bitsandbytes.autograd._functions").setLevel(logging.ERROR)
    return {"quantization_config": found, "device_map": {"": device}}


def keep_gradients(model: Any) -> None:
    """On CPUs with units for bfloat16, bitsandbytes 0.50 packs 4-bit weights for inference at the first pass in
    evaluation mode, for good, and the product it then takes hands no gradient on: training after a validation would go
    wrong without an error. Without that packing there is one way for both.
    """
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False


def is_quantized(model: Any) -> bool:
    """Was this model loaded narrow?"""
    return getattr(model, "quantization_method", None) is not None
