"""AdamW, or Adafactor, with clipping and a non-finite guard; AdamW's do not make the host wait for the device.

The fused kernels of torch take two tensors the gradient scaler invented, and both do more here: `grad_scale` divides
the gradients inside the kernel (so clipping costs no pass of its own), and `found_inf` makes the kernel skip the
update (so that a NaN never reaches the weights, although the host learns of it only at the next log).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from trainer.compute import factored, moments, sharding
from trainer.options.settings import Settings
from trainer.report import Choice


def learning_rate(step: int, total: int, settings: Settings) -> float:
    """The rate of optimizer step `step` (from 0) of `total`."""
    if step < settings.warmup_steps:
        return settings.learning_rate * (step + 1) / settings.warmup_steps
    if settings.schedule == "constant":
        return settings.learning_rate
    done = min(1.0, (step - settings.warmup_steps) / max(1, total - settings.warmup_steps))
    if settings.schedule == "linear":
        return settings.learning_rate * (1.0 - done)
    return settings.learning_rate * 0.5 * (1.0 + math.cos(math.pi * done))


def decay_groups(named: Iterable[tuple[str, Any]], weight_decay: float) -> list[dict[str, Any]]:
    """Matrices decay; vectors (norms, biases) and embeddings do not."""
    decays: list[Any] = []
    stays: list[Any] = []
    for name, parameter in named:
        if parameter.requires_grad:
            (decays if moments.is_matrix(name, parameter) else stays).append(parameter)
    return [{"params": decays, "weight_decay": weight_decay}, {"params": stays, "weight_decay": 0.0}]


SEARCHING = 0.5  # says of a skipped step that half the loss scale may do: it is no sign of a run that has gone wrong


class LossScale:
    """float16 only: the factor on the loss, halved after an overflow, doubled after 2,000 good steps, all on the
    device.
    """

    def __init__(self, device: torch.device) -> None:
        self.value = torch.full((), 65536.0, device=device)
        self.good = torch.zeros((), device=device)

    def update(self, bad: torch.Tensor) -> None:
        """After a step; `bad`: a float32 scalar, 1.0 where its gradient was not finite."""
        self.good = (self.good + 1) * (1 - bad)
        double = (self.good >= 2000).float()
        self.value.mul_((1 - 0.5 * bad) * (1 + double))  # in place: the loss in pieces looks at the same tensor
        self.good = self.good * (1 - double)


class Stepper:
    """One optimizer step: norm, clipping, guard, update. `choice` says which optimizer runs and why.

    Of sharded weights each process updates its own pieces; the norm is that of all.
    """

    def __init__(self, model: Any, device: torch.device, settings: Settings, half: bool = False) -> None:
        self.names = {parameter: name for name, parameter in model.named_parameters() if parameter.requires_grad}
        self.parameters = list(self.names)
        self.sharded = any(sharding.is_sharded(parameter) for parameter in self.parameters)
        # The tensors that the optimizer sees: the weights, or pieces that share their memory.
        self.pieces = {p: torch.nn.Parameter(sharding.own(p.detach())) if self.sharded else p for p in self.parameters}
        kind, reason = settings.optimizer, "asked for"
        self.narrow, self.factored = settings.moments == "8bit", settings.moments == "adafactor"
        if self.narrow:
            kind, reason = "in 8 bits", "moments=8bit; vectors and embeddings keep float32"
        elif self.factored and kind == "auto":
            kind, reason = "loop", "moments=adafactor; foreach would hold a copy of all weights at once"
        elif kind == "auto":
            fused = device.type in ("cpu", "cuda") and all(p.is_floating_point() for p in self.parameters)
            kind, reason = (
                ("fused", "one kernel for the whole update")
                if fused
                else ("foreach", f"no fused kernel on {device.type}")
            )
        self.fused = kind == "fused"
        self.choice = Choice("optimizer", f"{'Adafactor' if self.factored else 'AdamW'} {kind}", reason)
        self.clip = settings.clip_norm
        self.scale = LossScale(device) if half else None
        groups = decay_groups(((self.names[p], piece) for p, piece in self.pieces.items()), settings.weight_decay)
        options: dict[str, Any] = {
            "lr": 0.0,  # each step brings its own
            "betas": (settings.beta1, settings.beta2), "eps": settings.epsilon,
        }  # fmt: skip
        if self.narrow:
            self.optimizer = moments.adamw(*groups, **options)
        elif self.factored:
            self.optimizer = factored.adafactor(groups, kind == "foreach")
        else:
            own = {"fused": True} if self.fused else {"foreach": kind == "foreach"}
            self.optimizer = torch.optim.AdamW(groups, **options, **own)

    def scaled(self, loss: torch.Tensor) -> torch.Tensor:
        """The loss to call backward on; both are scalars."""
        return loss if self.scale is None else loss * self.scale.value

    def step(self, rate: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Updates the weights and clears the gradients.

        Returns (gradient norm, 1.0 where the step was skipped, SEARCHING where that was to find the loss scale), two
        float32 scalars on the device, unread.
        """
        if self.sharded:
            for parameter, piece in self.pieces.items():
                piece.grad = None if parameter.grad is None else sharding.own(parameter.grad)
                parameter.grad = None
        grads = [piece.grad for piece in self.pieces.values() if piece.grad is not None]
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
        if self.sharded:
            squares = norm.square()
            torch.distributed.all_reduce(squares)
            norm = squares.sqrt()
        divisor = torch.ones_like(norm)
        if self.scale is not None:
            norm, divisor = norm / self.scale.value, self.scale.value
        bad = (~torch.isfinite(norm)).float()
        if self.clip:
            divisor = divisor * (norm / self.clip).clamp_min(1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        if self.fused:
            self.optimizer.grad_scale, self.optimizer.found_inf = divisor.float(), bad
            self.optimizer.step()
        elif not bad.item():
            torch._foreach_div_(grads, divisor)
            self.optimizer.step()
        found = bad
        if self.scale is not None:
            found = bad * torch.where(self.scale.value > 1.0, SEARCHING, 1.0)
            self.scale.update(bad)
        self.optimizer.zero_grad(set_to_none=True)
        return norm, found

    def tensors(self) -> dict[str, torch.Tensor]:
        """Optimizer state by parameter name, for a checkpoint: tensors of the shapes of their parameters, or of this
        process's pieces of them (Adafactor's: of their rows and columns), scalars for "step" and the loss scale.
        """
        state = {
            f"{name}.{key}": value
            for parameter, name in self.names.items()
            if (found := self.optimizer.state.get(self.pieces[parameter]))
            for key, value in (moments.tensors_of(found) if self.narrow else found).items()
        }
        if self.scale is not None:
            state.update({"loss_scale.value": self.scale.value, "loss_scale.good": self.scale.good})
        return state

    def restore(self, tensors: dict[str, torch.Tensor], pieces: bool = False) -> None:
        """The inverse of `tensors`, with its shapes (`pieces`), or whole ones; values move to their parameter's device
        (the step counter only when fused on CUDA).
        """
        if self.narrow:
            self._restore_narrow(tensors)
        else:
            self._restore_torch(tensors, pieces)
        if self.scale is not None and "loss_scale.value" in tensors:
            self.scale.value.copy_(tensors["loss_scale.value"])
            self.scale.good = tensors["loss_scale.good"].to(self.scale.good.device)

    def _restore_narrow(self, tensors: dict[str, torch.Tensor]) -> None:
        keys = ("step", *moments.KEPT)
        found = {
            self.pieces[parameter]: {key: tensors[f"{name}.{key}"] for key in keys if f"{name}.{key}" in tensors}
            for parameter, name in self.names.items()
        }
        moments.restore(self.optimizer, found)

    def _restore_torch(self, tensors: dict[str, torch.Tensor], pieces: bool) -> None:
        keys = ("step", *(factored.KEPT if self.factored else ("exp_avg", "exp_avg_sq")))
        for parameter, name in self.names.items():
            found = {key: tensors[f"{name}.{key}"] for key in keys if f"{name}.{key}" in tensors}
            if found:
                piece = self.pieces[parameter]
                host = not (self.fused and piece.device.type == "cuda")
                step = found.pop("step")
                self.optimizer.state[piece] = {
                    "step": step.clone() if host else step.to(piece.device, copy=True),
                    **{
                        key: value.to(piece.device, copy=True) if pieces else sharding.piece_like(value, parameter)
                        for key, value in found.items()
                    },
                }
