"""AdamW's two moments in 8 bits each, through bitsandbytes (Dettmers et al., arXiv 2110.02861): of a matrix's 8 bytes a
weight 2 are left. Vectors and embeddings keep theirs in float32, as the paper's stable embedding layer does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from trainer.compute import extras

SMALLEST = 4096  # values of a tensor that is worth 8 bits; bitsandbytes' default
# What is kept for a checkpoint; the tables of values (qmap1, qmap2) are the same for all, and made anew.
KEPT = ("state1", "state2", "absmax1", "absmax2")


def is_matrix(name: str, parameter: Any) -> bool:
    """Is this parameter a factor of a product, and no norm, bias or embedding?"""
    return parameter.ndim >= 2 and "embed" not in name


def is_narrow(name: str, parameter: Any) -> bool:
    """Are this trained parameter's moments held in 8 bits, where that is asked for?"""
    return is_matrix(name, parameter) and parameter.numel() >= SMALLEST


def adamw(decays: Mapping[str, Any], stays: Mapping[str, Any], **options: Any) -> Any:
    """bitsandbytes' AdamW over two parameter groups, the second one's moments in float32.

    TrainerError where bitsandbytes cannot be imported.
    """
    optim: Any = extras.load("bitsandbytes.optim", "moments=8bit")

    class ByGroup(optim.AdamW8bit):  # type: ignore[misc]
        """Takes the number of bits from the parameter group; bitsandbytes' own way is one registry for all programs."""

        def get_config(self, gindex: int, pindex: int, group: Mapping[str, Any]) -> dict[str, Any]:
            found: dict[str, Any] = super().get_config(gindex, pindex, group)
            return {**found, "optim_bits": group["optim_bits"]}

    both = [{**decays, "optim_bits": 8}, {**stays, "optim_bits": 32}]
    return ByGroup(both, min_8bit_size=SMALLEST, **options)


def tensors_of(state: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """One parameter's state for a checkpoint: tensors of its shape and their blocks' scales, and the scalar "step"."""
    found = {key: state[key] for key in KEPT if key in state}
    return {**found, "step": torch.tensor(float(state["step"]))}


def restore(optimizer: Any, tensors: Mapping[torch.Tensor, Mapping[str, torch.Tensor]]) -> None:
    """The inverse of `tensors_of`, by parameter."""
    for group_index, group in enumerate(optimizer.param_groups):
        for index, parameter in enumerate(group["params"]):
            if found := tensors.get(parameter):
                optimizer.init_state(group, parameter, group_index, index)
                state = optimizer.state[parameter]
                state["step"] = int(found["step"])
                for key in KEPT:
                    if key in state:
                        state[key].copy_(found[key])
