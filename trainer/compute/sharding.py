"""FSDP2's sharded weights as the rest of the trainer sees them: local pieces to update, whole tensors to save.

AdamW is elementwise, so it runs on each process's own pieces, which share their memory with the sharded weights.
"""

from __future__ import annotations

import os
from typing import Any

import torch


def plugin() -> Any:
    """accelerate's description of FSDP2: the launcher's where it gave one, else each decoder layer by itself."""
    from accelerate import FullyShardedDataParallelPlugin

    # The first process has the weights, on its host; the others have their shapes (`trainer.model.build`), and get
    # their shares tensor by tensor.
    options: dict[str, Any] = {"fsdp_version": 2, "cpu_ram_efficient_loading": True}
    if os.environ.get("ACCELERATE_USE_FSDP", "false").lower() != "true":
        options.update(auto_wrap_policy="transformer_based_wrap", reshard_after_forward=True)
    return FullyShardedDataParallelPlugin(**options)


def wrap(accelerator: Any, entry: Any, narrow: torch.dtype | None) -> Any:
    """Shard `entry` in place, by accelerate's own rules (layers, embedding, and head each by themselves).

    narrow: the number format in which weights are gathered and computed with; gradients are summed in float32, as
    torchtitan does. None: that of the weights.
    """
    from accelerate.utils import fsdp2_prepare_model

    if narrow is not None:
        from torch.distributed.fsdp import MixedPrecisionPolicy

        policy = MixedPrecisionPolicy(param_dtype=narrow, reduce_dtype=torch.float32)
        accelerator.state.fsdp_plugin.mixed_precision_policy = policy
    return fsdp2_prepare_model(accelerator, entry)


def rest(wrapped: Any) -> None:
    """Every weight is a shard: a forward pass alone leaves some gathered, for a backward pass that does not come."""
    from torch.distributed.fsdp import FSDPModule

    for module in wrapped.modules():
        if isinstance(module, FSDPModule):
            module.reshard()


def is_sharded(tensor: Any) -> bool:
    """Is this a DTensor?"""
    return hasattr(tensor, "to_local")


def own(tensor: Any) -> Any:
    """This process's piece, sharing its memory; a plain tensor is its own."""
    return tensor.to_local() if is_sharded(tensor) else tensor


def whole(tensor: Any) -> torch.Tensor:
    """The full tensor, of its global shape, on every process (they must all ask)."""
    full: torch.Tensor = tensor.full_tensor() if is_sharded(tensor) else tensor
    return full


def on_host(tensor: Any, keep: bool) -> torch.Tensor:
    """The full tensor on the host of the processes that `keep` it (they must all ask): one at a time is on a device."""
    full = whole(tensor)
    return full.to("cpu") if keep else torch.empty(0)


def piece_like(full: torch.Tensor, parameter: Any) -> torch.Tensor:
    """This process's piece (of `parameter`'s local shape) of `full` (of its global shape), on its device; a copy."""
    if not is_sharded(parameter):
        return full.to(parameter.device, copy=True)
    from torch.distributed.tensor import distribute_tensor

    device = parameter.to_local().device
    piece = distribute_tensor(full.to(device), parameter.device_mesh, parameter.placements).to_local()
    return piece.clone()


def unshard(model: Any, keep: bool) -> None:
    """Put whole weights on the host in place of the sharded ones, for saving; the model trains no more.

    keep: whether this process needs them (the others only take part).
    """
    full: dict[int, torch.nn.Parameter] = {}
    for module in model.modules():
        bases = type(module).__bases__
        if bases and bases[0].__name__ == "FSDPModule":  # its own class again: FSDP2's looks for shards in every `to`
            module.reshard()
            module.__class__ = bases[1]
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is None or not is_sharded(parameter):
                continue
            if id(parameter) not in full:
                kept = on_host(parameter.detach(), keep)
                full[id(parameter)] = torch.nn.Parameter(kept, requires_grad=parameter.requires_grad)
            module._parameters[name] = full[id(parameter)]
