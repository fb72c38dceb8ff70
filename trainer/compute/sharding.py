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

    # Every process has loaded the same weights, or drawn the same random ones, before they are sharded.
    options: dict[str, Any] = {"fsdp_version": 2, "cpu_ram_efficient_loading": False}
    if os.environ.get("ACCELERATE_USE_FSDP", "false").lower() != "true":
        options.update(auto_wrap_policy="transformer_based_wrap", reshard_after_forward=True)
    return FullyShardedDataParallelPlugin(**options)


def wrap(accelerator: Any, entry: Any) -> Any:
    """Shard `entry` in place, by accelerate's own rules (layers, embedding, and head each by themselves)."""
    from accelerate.utils import fsdp2_prepare_model

    return fsdp2_prepare_model(accelerator, entry)


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


def whole_like(piece: torch.Tensor, parameter: Any) -> torch.Tensor:
    """The full tensor, of `parameter`'s global shape, of which each process has a `piece` of the local one."""
    if not is_sharded(parameter):
        return piece
    from torch.distributed.tensor import DTensor

    full: torch.Tensor = DTensor.from_local(
        piece, parameter.device_mesh, parameter.placements, shape=parameter.shape, stride=parameter.stride()
    ).full_tensor()
    return full


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
        for name, parameter in module._parameters.items():
            if parameter is None or not is_sharded(parameter):
                continue
            if id(parameter) not in full:
                tensor = whole(parameter.detach())
                kept = tensor.to("cpu") if keep else torch.empty(0)
                full[id(parameter)] = torch.nn.Parameter(kept, requires_grad=parameter.requires_grad)
            module._parameters[name] = full[id(parameter)]
