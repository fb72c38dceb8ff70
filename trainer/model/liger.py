"""Kernels of the library Liger, where it is installed: the product of a gated layer, and rotary positions.

Eager layers alone: compiled ones fuse by themselves. SwiGLU is one kernel forward and one backward instead of two and
four, moves 8 times its width for each token instead of 14, and keeps two tensors instead of three. Queries and keys are
turned in one kernel. Norms are one kernel each already, torch's own (`trainer.model.narrow`), and the loss is computed
in pieces (`trainer.model.losses`): Liger's forms of both would launch as much.

Each is tried with the widths of the model on its device and held against torch's operators in float32 before a run
relies on it. Nothing of it has run on a GPU: its calls were made on devices that are not there, its kernels computed by
Triton's interpreter and compiled for the chips (`tests/cuda/test_liger.py`). So it is off unless asked for.
"""

from __future__ import annotations

import copy
import functools
import importlib
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Callable

import torch
import torch.nn.functional as F

from trainer.errors import in_one_line
from trainer.model import kernels
from trainer.model.trial import WORST, Heads
from trainer.report import Choice

Function = Callable[..., Any]
PARTS = ("gate_proj", "up_proj", "down_proj")
ROWS = 24  # tokens of a trial
DEVICES = ("cuda",)  # elsewhere Triton's interpreter alone computes them


@contextmanager
def install(model: Any, device: torch.device, dtype: torch.dtype) -> Iterator[Choice]:
    """The model's eager layers compute with Liger's kernels until the end, as far as they are there and exact."""
    try:
        ops = importlib.import_module("liger_kernel.ops")
        gated, turned = ops.LigerSiLUMulFunction.apply, ops.LigerRopeFunction.apply
    except Exception as error:  # noqa: BLE001 - whatever a broken package raises, layers run without
        yield Choice("liger", "off", f"cannot be imported: {in_one_line(error, 150)}")
        return
    with ExitStack() as held:
        names, why = [], []
        for name, installed in (
            ("SwiGLU", _gates(model, gated, held)),
            ("rotary positions", _turns(model, turned, held)),
        ):
            try:
                names.append(name + installed(device, dtype))
            except Exception as error:  # noqa: BLE001 - compilers and kernels raise what they like
                why.append(f"{name}: {in_one_line(error, 150)}")
        told = "; ".join([*why, *(["tried and exact"] if names else [])])
        yield Choice("liger", ", ".join(names) or "off", told)


def _gates(model: Any, gated: Function, held: ExitStack) -> Callable[[torch.device, torch.dtype], str]:
    def installed(device: torch.device, dtype: torch.dtype) -> str:
        places = [module for module in model.modules() if is_gated(module)]
        if not places:
            raise LookupError("no layer is gated")
        for width in sorted({module.gate_proj.out_features for module in places}):
            _hold(
                lambda *given: (gated(*given),), lambda a, b: (F.silu(a) * b,),
                tuple(_numbers(device, dtype, 1, ROWS, width, seed=seed) for seed in range(2)),
            )  # fmt: skip
        for module in places:
            kernels.replace_forward(module, _gate, type(module).forward, gated)
            held.callback(delattr, module, "forward")
        return f" in {len(places)} places"

    return installed


def _turns(model: Any, turned: Function, held: ExitStack) -> Callable[[torch.device, torch.dtype], str]:
    def installed(device: torch.device, dtype: torch.dtype) -> str:
        owner: Any = sys.modules[type(model.get_decoder()).__module__]
        own, heads = owner.apply_rotary_pos_emb, Heads.of(model.config.to_dict())
        places = torch.arange(ROWS, device=device)[:, None] / torch.arange(1, 1 + heads.width // 2, device=device)
        cos, sin = (angles.repeat(1, 2)[None] for angles in (places.cos(), places.sin()))
        row = (
            _numbers(device, dtype, 1, ROWS, count, heads.width, seed=count).transpose(1, 2)
            for count in (heads.query, heads.shared)
        )  # as a layer has them: products, seen by heads
        _hold(lambda q, k: turned(q, k, cos.to(dtype), sin.to(dtype)), lambda q, k: own(q, k, cos, sin), tuple(row))
        owner.apply_rotary_pos_emb = functools.partial(_turn, own, turned)
        held.callback(setattr, owner, "apply_rotary_pos_emb", own)
        return ""

    return installed


def _numbers(device: torch.device, dtype: torch.dtype, *shape: int, seed: int = 0) -> torch.Tensor:
    """Without touching torch's random state."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(device, dtype)


def is_gated(module: Any) -> bool:
    """A module that computes down(silu(gate(x)) * up(x)) of three linear layers of these names."""
    found = [getattr(module, name, None) for name in PARTS]
    if not all(isinstance(part, torch.nn.Linear) for part in found) or "forward" in vars(module):
        return False
    small = copy.copy(module)
    small._modules = dict(module._modules)
    for name, shape in zip(PARTS, ((6, 4), (6, 4), (4, 6))):  # without touching torch's random state
        small._modules[name] = torch.nn.Linear(*shape, bias=False, device="meta")
        small._modules[name].weight = torch.nn.Parameter(kernels._numbers(*shape))
    gate, up, down = (small._modules[name] for name in PARTS)
    with torch.enable_grad():
        return kernels._agree(
            lambda x: down(F.silu(gate(x)) * up(x)), lambda x: type(module).forward(small, x),
            (kernels._numbers(3, 4),),
        )  # fmt: skip


def _gate(module: Any, x: torch.Tensor, own: Function, gated: Function) -> Any:
    if kernels.is_compiling():
        return own(module, x)
    return module.down_proj(gated(module.gate_proj(x), module.up_proj(x)))


def _turn(own: Function, turned: Function, query: Any, key: Any, cos: Any, sin: Any, *more: Any, **named: Any) -> Any:
    """Liger's kernel overwrites its inputs: products have no use for what they handed on, norms neither."""
    known = not more and not named and cos.dim() == 3 and cos.shape[-1] == query.shape[-1]
    if not known or query.dtype != key.dtype or kernels.is_compiling():
        return own(query, key, cos, sin, *more, **named)
    return turned(query, key, cos, sin)


def _hold(ours: Function, exact: Function, given: tuple[torch.Tensor, ...]) -> None:
    """Values and gradients beside those of the other function in float32. ArithmeticError where they differ by more
    than 16 bits round: by 2 % of their norm.
    """
    results = []
    for function, dtype in ((exact, torch.float32), (ours, given[0].dtype)):
        inputs = [tensor.detach().clone().to(dtype).requires_grad_() for tensor in given]
        with torch.enable_grad():
            found = function(*(tensor * 1 for tensor in inputs))  # a kernel may overwrite what it is given
            sum((one.float() * one.detach().float().cos()).sum() for one in found).backward()
        results.append([*(one.detach() for one in found), *(tensor.grad for tensor in inputs)])
    for number, (right, found) in enumerate(zip(*results)):
        off = float((found.float() - right).norm() / right.norm())
        if not off <= WORST:
            raise ArithmeticError(f"result {number} is off by {off:.1%}")
