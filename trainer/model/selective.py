"""Layers of which all is computed again but their products and attention.

What those give is kept; norms, positions, activations, sums and casts are computed again from it when the backward pass
comes. Of a Llama layer that frees two fifths of what it keeps for its elementwise passes alone, where recomputing it
whole frees nearly all of it for a third of its products: by the byte it is the cheaper one (Korthikanti et al.,
arXiv 2205.05198, section 5). torch's own contexts do it, operator by operator and in Python; compiled layers, whose
compiler does the same by itself, are left to it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

try:  # torch 2.4 and later
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
except ImportError:
    create_selective_checkpoint_contexts = None  # type: ignore[assignment,unused-ignore]

# Of packed rows, by `trainer.model.attention`, those whose operators are called as they are; FlexAttention is compiled,
# and neither torch's contexts nor `noting` can look into it: torch compiles nothing beneath a mode of theirs.
ATTENTIONS = ("varlen", "flash-attn", "documents")


def is_open(attention: str | None) -> bool:
    """Can a mode see the operators of that attention? None: the model's own."""
    return attention in (None, *ATTENTIONS)


def why_not(model: Any, layers: Any, attention: str | None) -> str | None:
    """What speaks against it; None: nothing. attention: the path of packed rows, None for the model's own."""
    if create_selective_checkpoint_contexts is None:
        return "this torch has no selective checkpointing"
    if any(hasattr(layer, "_compiled_call_impl") and layer._compiled_call_impl is not None for layer in layers):
        return "compiled layers do it by themselves"
    if not is_open(attention):
        return f"attention={attention} is compiled"
    if not all(hasattr(layer, "gradient_checkpointing") for layer in layers):
        return "this model's layers are not checkpointed one by one"
    if any(value for name, value in model.config.to_dict().items() if "att" in name and "drop" in name):
        return "attention drops out, and what is kept of it draws no masks again"
    return None


def install(layer: Any) -> None:
    """Of this layer, which is checkpointed already, keep what `is_kept`."""
    plain = layer._gradient_checkpointing_func
    layer._gradient_checkpointing_func = functools.partial(plain, context_fn=_contexts)


def _contexts() -> Any:
    # An adapter's share is added in place to what the product before it gave: both are kept, and are one tensor.
    return create_selective_checkpoint_contexts(_policy, allow_cache_entry_mutation=True)


def _policy(context: Any, operator: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG001 - torch's signature
    return CheckpointPolicy.MUST_SAVE if is_kept(operator) else CheckpointPolicy.PREFER_RECOMPUTE


@functools.cache
def is_kept(operator: Any) -> bool:
    """Is it a product, or attention?"""
    if getattr(operator, "_overloadpacket", None) in flop_registry:
        return True
    name = getattr(operator, "__name__", "").partition(".")[0]
    return name in ("addmm_", "_scaled_mm") or "attn" in name or "attention" in name


class _Outputs(TorchDispatchMode):  # type: ignore[misc,unused-ignore]
    def __init__(self, note: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self._note = note

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if is_kept(func):
            for leaf in tree_leaves(out):
                if isinstance(leaf, torch.Tensor):
                    self._note(leaf)
        return out


@contextmanager
def noting(note: Callable[[torch.Tensor], Any]) -> Iterator[None]:
    """`note` is called with each tensor that such a layer would keep."""
    with _Outputs(note):
        yield
