"""RMSNorm and rotary positions as one autograd node each, for float32 on CPUs.

transformers writes both as chains of five to ten elementwise operators, of which autograd makes as many again. On a CPU
each is a pass through memory. Here the forward is two or three passes and the backward four. GPUs and compiled layers
fuse the chains by themselves and keep the model's own. A step of chat-5m took 1.05 times as much CPU time without
(median of 6 interleaved pairs on a very busy core, 0.86 to 1.19; `python -m trainer.benchmarks.kernels` repeats it).

Nothing is taken on trust: a module or function is replaced only after value and gradients agreed with its own on random
input.
"""

from __future__ import annotations

import functools
import inspect
import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Optional, Tuple

import torch

from trainer.hardware import Choice

TOLERANCE = 1e-5  # relative to the largest value; float32 sums in another order


class RootMeanSquare(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """weight * x / sqrt(mean(x^2) + epsilon) over the last dimension."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, epsilon: float) -> torch.Tensor:
        scale = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        scale = scale.square_().div_(x.shape[-1]).add_(epsilon).rsqrt_()
        unit = x * scale
        ctx.save_for_backward(unit, scale, weight)
        found: torch.Tensor = unit * weight
        return found

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        unit, scale, weight = ctx.saved_tensors
        product = gradient * unit
        of_weight = product.flatten(0, -2).sum(0) if ctx.needs_input_grad[1] else None
        if not ctx.needs_input_grad[0]:
            return None, of_weight, None
        mean = (product.flatten(0, -2) @ weight).view(scale.shape).div_(-weight.shape[0])
        return (gradient * weight).addcmul_(unit, mean).mul_(scale), of_weight, None


class Rotation(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """x * cos + (-second half, first half of x) * sin, over the last dimension."""

    @staticmethod
    def forward(ctx: Any, x: Any, cos: Any, sin: Any) -> torch.Tensor:
        ctx.save_for_backward(cos, sin)
        half = x.shape[-1] // 2
        out: torch.Tensor = x * cos
        out[..., :half].addcmul_(x[..., half:], sin[..., :half], value=-1)
        out[..., half:].addcmul_(x[..., :half], sin[..., half:])
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        cos, sin = ctx.saved_tensors
        half = gradient.shape[-1] // 2
        out = gradient * cos
        out[..., :half].addcmul_(gradient[..., half:], sin[..., half:])
        out[..., half:].addcmul_(gradient[..., :half], sin[..., :half], value=-1)
        return out, None, None


class _Turning:
    """A module's function for rotary positions, computed by ours for as long as `models` use it.

    Counted, because a run that another one's end changed in its middle would round differently from there on.
    """

    def __init__(self, place: Any, own: Callable[..., Any]) -> None:
        self.place, self.own, self.models = place, own, 0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return _rotated(self.own, *arguments, **named)

    def enter(self) -> None:
        self.models += 1
        self.place.apply_rotary_pos_emb = self

    def leave(self) -> None:
        self.models -= 1
        if not self.models:
            self.place.apply_rotary_pos_emb = self.own


@contextmanager
def installed(model: Any) -> Iterator[Choice]:
    """The model computes with these kernels until the end, where its own functions agree with them."""
    norms = [module for module in model.modules() if _is_norm(module)]
    names: List[str] = []
    for module in norms:
        module.forward = functools.partial(_normed, module, type(module).forward)
    if norms:
        names.append("RMSNorm in %d places" % len(norms))
    turning = _turning(sys.modules[type(model.get_decoder()).__module__])
    if turning is not None:
        turning.enter()
        names.append("rotary positions")
    why = "one node each instead of chains of operators" if names else "this model has neither as they are known here"
    try:
        yield Choice("kernels", ", ".join(names) or "the model's own", why)
    finally:
        for module in norms:
            del module.forward
        if turning is not None:
            turning.leave()


def _turning(place: Any) -> Optional[_Turning]:
    """What computes the module's rotary positions, if ours does the same as its own."""
    found = getattr(place, "apply_rotary_pos_emb", None)
    if found is None or isinstance(found, _Turning):
        return found
    return _Turning(place, found) if _is_rotary(found) else None


def _normed(module: Any, own: Callable[..., Any], x: Any) -> torch.Tensor:
    weight = module.weight
    if x.dtype != torch.float32 or weight.dtype != torch.float32 or _compiling():
        found: torch.Tensor = own(module, x)
        return found
    normed: torch.Tensor = RootMeanSquare.apply(x, weight, module.variance_epsilon)
    return normed


def _rotated(own: Callable[..., Any], query: Any, key: Any, cos: Any, sin: Any, *more: Any, **named: Any) -> Any:
    plain = not more and not named and query.dtype == key.dtype == cos.dtype == torch.float32
    if not plain or _compiling() or cos.shape[-1] != query.shape[-1] or cos.dim() != 3:
        return own(query, key, cos, sin, *more, **named)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return Rotation.apply(query, cos, sin), Rotation.apply(key, cos, sin)


def _compiling() -> bool:
    return hasattr(torch.compiler, "is_compiling") and torch.compiler.is_compiling()


def _is_norm(module: Any) -> bool:
    """A module called ...RMSNorm with one weight that computes what RootMeanSquare does."""
    weight = getattr(module, "weight", None)
    if not type(module).__name__.endswith("RMSNorm") or not hasattr(module, "variance_epsilon") or weight is None:
        return False
    if weight.dtype != torch.float32 or "forward" in vars(module) or list(module.parameters()) != [weight]:
        return False
    x = _numbers(3, weight.shape[0])
    with torch.enable_grad():
        return _agree(
            lambda y, w: RootMeanSquare.apply(y, w, module.variance_epsilon),
            lambda y, w: torch.func.functional_call(module, {"weight": w}, (y,)),
            (x, weight.detach() + _numbers(weight.shape[0])),
        )


def _is_rotary(function: Callable[..., Any]) -> bool:
    if list(inspect.signature(function).parameters)[:4] != ["q", "k", "cos", "sin"]:
        return False
    angles = _numbers(1, 5, 4).repeat(1, 1, 2)
    cos, sin = angles.cos(), angles.sin()
    with torch.enable_grad():
        return _agree(
            lambda q, k: torch.cat(_rotated(function, q, k, cos, sin), 1),
            lambda q, k: torch.cat(function(q, k, cos, sin), 1),
            (_numbers(1, 4, 5, 8), _numbers(1, 2, 5, 8)),
        )


def _numbers(*shape: int) -> torch.Tensor:
    """The same in every call, without touching torch's random state."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def _agree(ours: Callable[..., Any], own: Callable[..., Any], inputs: Tuple[torch.Tensor, ...]) -> bool:
    """Do value and gradients lie within TOLERANCE? A function that cannot take the inputs does not agree."""
    results: List[List[torch.Tensor]] = []
    for function in (ours, own):
        given = [value.detach().clone().requires_grad_() for value in inputs]
        try:
            out = function(*given)
            results.append([out.detach(), *torch.autograd.grad((out * out.detach().cos()).sum(), given)])
        except (TypeError, RuntimeError, IndexError, ValueError):
            return False
    return all(
        a.shape == b.shape and float((a - b).abs().max()) <= TOLERANCE * float(b.abs().max()) for a, b in zip(*results)
    )
