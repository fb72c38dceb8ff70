"""The residual stream of a GPU in the number format of its products, with norms of one kernel each.

Under autocast alone a model's hidden states stay float32: every norm, residual sum and rotation between two products
moves twice the bytes that the products take, and on an H100 those passes are most of a step. Weights, their gradients
and the optimizer's states stay float32 in any case. This is how a model that is loaded in bfloat16 computes, too.

Norms are torch's own fused operator (torch 2.9 and later have its kernels for CUDA), and, as anywhere, only where they
agree with the model's own on random input (`trainer.model.kernels`). Autocast would widen what goes into that operator
and hand on float32 (ATen/autocast_mode.h lists it), for each product behind it to narrow again: within the layers it is
called without. What the last norm hands on leaves the model, and stays float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F

from trainer.model import kernels
from trainer.report import Choice

DEVICES = ("cuda",)  # a CPU's own kernels compute in float32 (`trainer.model.kernels`)


@contextmanager
def narrow_states(model: Any, dtype: torch.dtype, fused: bool = True) -> Iterator[Choice]:
    """The model's states are of `dtype` behind its embedding, until the end. fused: norms and positions are ours."""
    embedding = model.get_input_embeddings()
    hook = embedding.register_forward_hook(lambda *given: given[-1].to(dtype))
    norms = [module for module in model.modules() if fused and kernels.is_norm(module)]
    within = kernels.within_layers(model)
    for module in norms:
        kernels.replace_forward(module, _narrow if module in within else _rms_norm)
    try:
        with kernels.rotary_kernels(model) if fused else nullcontext(False) as turned:
            how = f"{len(norms)} norms are one kernel each" if norms else "norms are the model's own"
            how += ", positions are turned in three kernels" if turned else ""
            yield Choice("residual", str(dtype).replace("torch.", ""), f"as its products; weights stay float32; {how}")
    finally:
        hook.remove()
        for module in norms:
            del module.forward


def _rms_norm(module: Any, x: torch.Tensor) -> torch.Tensor:
    """x (..., width) over its root mean square, times the weight; as wide as x."""
    return F.rms_norm(x, (x.shape[-1],), module.weight.to(x.dtype), module.variance_epsilon)


def _narrow(module: Any, x: torch.Tensor) -> torch.Tensor:
    """The same, in the number format of x whatever autocast thinks of it."""
    with torch.autocast(x.device.type, enabled=False):
        return _rms_norm(module, x)
