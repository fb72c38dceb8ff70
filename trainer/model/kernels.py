"""RMSNorm and rotary positions as one autograd node each, for CPUs; rotary positions for GPUs, too.

transformers writes both as chains of five to ten elementwise operators, of which autograd makes as many again. Each is
a pass through memory, and on a GPU a launch. Here the forward is two or three passes and the backward four. Compiled
layers fuse the chains by themselves and keep the model's own; norms of a GPU are in `trainer.model.narrow`.

Both compute in float32. Under autocast what they hand on is as narrow as the products that follow would make it: one
conversion instead of one for each product. A pass of chat-5m in bfloat16 took 1.13 times as long without (quartiles
1.08 to 1.17 of 8 interleaved pairs), one of chat-30m 1.03 times (0.98 to 1.09 of 4): two cores of an AMD EPYC,
`python -m tests.benchmarks.kernels`. On one core of a busy Intel Xeon with AMX it was 1.10 times the CPU time for
chat-5m (1.07 to 1.13 of 10), 1.08 times for chat-30m (0.99 to 1.09 of 5). In float32 on another machine it was 1.05
times the CPU time for chat-5m.

Nothing is taken on trust: a module or function is replaced only after value and gradients agreed with its own on random
input.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import torch

from trainer.report import Choice

TOLERANCE = 1e-5  # relative to the largest value; float32 sums in another order


class RootMeanSquare(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """weight * x / sqrt(mean(x^2) + epsilon) over the last dimension, as `dtype`.

    x (..., width), weight (width,); returns (..., width).
    """

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, epsilon: float, dtype: Any) -> torch.Tensor:
        scale = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        scale = scale.square_().div_(x.shape[-1]).add_(epsilon).rsqrt_()
        unit = x * scale
        ctx.save_for_backward(unit, scale, weight)
        return torch.mul(unit, weight, out=torch.empty_like(unit, dtype=dtype))

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        unit, scale, weight = ctx.saved_tensors
        product = gradient * unit
        of_weight = product.flatten(0, -2).sum(0) if ctx.needs_input_grad[1] else None
        if not ctx.needs_input_grad[0]:
            return None, of_weight, None, None
        mean = (product.flatten(0, -2) @ weight).view(scale.shape).div_(-weight.shape[0])
        return (gradient * weight).addcmul_(unit, mean).mul_(scale), of_weight, None, None


class Rotation(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """x * cos + (-second half, first half of x) * sin, over the last dimension; computed as wide as cos is.

    x (1, heads, tokens, width), cos and sin (1, 1, tokens, width); returns (1, heads, tokens, width), as x is.
    """

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(cos, sin)
        half, wide = x.shape[-1] // 2, x.to(cos.dtype)
        out: torch.Tensor = wide * cos
        out[..., :half].addcmul_(wide[..., half:], sin[..., :half], value=-1)
        out[..., half:].addcmul_(wide[..., :half], sin[..., half:])
        return out.to(x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        cos, sin = ctx.saved_tensors
        half, wide = gradient.shape[-1] // 2, gradient.to(cos.dtype)
        out = wide * cos
        out[..., :half].addcmul_(wide[..., half:], sin[..., half:])
        out[..., half:].addcmul_(wide[..., :half], sin[..., :half], value=-1)
        return out.to(gradient.dtype), None, None


class _Turning:
    """A module's function for rotary positions, computed by ours for as long as `models` use it.

    Counted, because a run that another one's end changed in its middle would round differently from there on.
    """

    def __init__(self, place: Any, own: Callable[..., Any]) -> None:
        self.place, self.own, self.models = place, own, 0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return _rotate(self.own, *arguments, **named)

    def enter(self) -> None:
        self.models += 1
        self.place.apply_rotary_pos_emb = self

    def leave(self) -> None:
        self.models -= 1
        if not self.models:
            self.place.apply_rotary_pos_emb = self.own


@contextmanager
def install_kernels(model: Any) -> Iterator[Choice]:
    """The model computes with these kernels until the end, where its own functions agree with them."""
    norms = [module for module in model.modules() if is_norm(module)]
    # Within a layer products follow. What the last norm hands on leaves the model: it stays float32.
    within = within_layers(model)
    names: list[str] = []
    for module in norms:
        replace_forward(module, _normalise, type(module).forward, module in within)
    if norms:
        names.append(f"RMSNorm in {len(norms)} places")
    try:
        with rotary_kernels(model) as turned:
            names += ["rotary positions"] if turned else []
            why = "one node each instead of chains of operators" if names else "this model has neither as known here"
            yield Choice("kernels", ", ".join(names) or "the model's own", why)
    finally:
        for module in norms:
            del module.forward


@contextmanager
def rotary_kernels(model: Any) -> Iterator[bool]:
    """The model's rotary positions are computed by `Rotation` until the end, where that agrees with its own: whether it
    does.
    """
    found = _rotary_of(sys.modules[type(model.get_decoder()).__module__])
    if found is None:
        yield False
        return
    found.enter()
    try:
        yield True
    finally:
        found.leave()


def within_layers(model: Any) -> set[Any]:
    """The modules of a decoder's layers."""
    return {module for layer in getattr(model.get_decoder(), "layers", ()) for module in layer.modules()}


def _rotary_of(place: Any) -> _Turning | None:
    """What computes the module's rotary positions, if ours does the same as its own."""
    found = getattr(place, "apply_rotary_pos_emb", None)
    if found is None or isinstance(found, _Turning):
        return found
    return _Turning(place, found) if _is_rotary(found) else None


def replace_forward(module: Any, function: Callable[..., Any], *more: Any) -> None:
    """`function(module, x, *more)` in the place of the module's forward, until `del module.forward`.

    As a method of one function for all modules with the same `more`: a compiler looks at which function it is, and
    would compile every layer anew for objects of their own, up to its limit of eight, and run the others as they are.
    """
    module.forward = types.MethodType(_method(function, *more) if more else function, module)


@functools.cache
def _method(function: Callable[..., Any], *more: Any) -> Callable[..., Any]:
    def forward(module: Any, x: torch.Tensor) -> Any:
        return function(module, x, *more)

    return forward


def _normalise(module: Any, x: torch.Tensor, own: Callable[..., Any], narrow: bool) -> torch.Tensor:
    weight = module.weight
    if x.dtype != torch.float32 or weight.dtype != torch.float32 or is_compiling():
        found: torch.Tensor = own(module, x)
        return found
    dtype = (_autocast() if narrow else None) or torch.float32
    normed: torch.Tensor = RootMeanSquare.apply(x, weight, module.variance_epsilon, dtype)
    return normed


def _rotate(
    own: Callable[..., Any],
    query: torch.Tensor,
    key: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    *more: Any,
    **named: Any,
) -> Any:
    known = not more and not named and cos.dim() == 3 and cos.shape[-1] == query.shape[-1]
    if not known or query.dtype != key.dtype or is_compiling():
        return own(query, key, cos, sin, *more, **named)
    # Computed in float32; a GPU's kernels compute in it whatever they read and write.
    wide = cos.dtype == torch.float32 and query.dtype in (torch.float32, _autocast())
    if not wide and not (query.device.type == "cuda" and query.dtype == cos.dtype):
        return own(query, key, cos, sin)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return Rotation.apply(query, cos, sin), Rotation.apply(key, cos, sin)


def _autocast() -> Any:
    """The number format that products are computed in here; None where they are in their inputs' own."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None


def is_compiling() -> bool:
    """Is this being traced by a compiler, which fuses by itself?"""
    return hasattr(torch.compiler, "is_compiling") and torch.compiler.is_compiling()


def is_norm(module: Any) -> bool:
    """A module called ...RMSNorm with one weight that computes what RootMeanSquare does."""
    weight = getattr(module, "weight", None)
    if not type(module).__name__.endswith("RMSNorm") or not hasattr(module, "variance_epsilon") or weight is None:
        return False
    if weight.dtype != torch.float32 or "forward" in vars(module) or list(module.parameters()) != [weight]:
        return False
    x = _numbers(3, weight.shape[0])
    with torch.enable_grad():
        return _agree(
            lambda y, w: RootMeanSquare.apply(y, w, module.variance_epsilon, torch.float32),
            lambda y, w: torch.func.functional_call(module, {"weight": w}, (y,)),
            (x, 1 + _numbers(weight.shape[0])),  # its own may have no content yet
        )


def _is_rotary(function: Callable[..., Any]) -> bool:
    if list(inspect.signature(function).parameters)[:4] != ["q", "k", "cos", "sin"]:
        return False
    angles = _numbers(1, 5, 4).repeat(1, 1, 2)
    cos, sin = angles.cos(), angles.sin()
    with torch.enable_grad():
        return _agree(
            lambda q, k: torch.cat(_rotate(function, q, k, cos, sin), 1),
            lambda q, k: torch.cat(function(q, k, cos, sin), 1),
            (_numbers(1, 4, 5, 8), _numbers(1, 2, 5, 8)),
        )


def _numbers(*shape: int) -> torch.Tensor:
    """The same in every call, without touching torch's random state."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def _agree(ours: Callable[..., Any], own: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> bool:
    """Do value and gradients lie within TOLERANCE? A function that cannot take the inputs does not agree."""
    results: list[list[torch.Tensor]] = []
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
