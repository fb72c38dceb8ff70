"""A residual stream in bfloat16, as a GPU has it, on the CPU: what it is made of, how near it stays, and its end."""

from __future__ import annotations

import torch
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from tests.trainer.running import prepare_run
from trainer.model import kernels, narrow


def test_states_are_narrow_within_the_layers_and_the_loss_stays_near(tiny: dict) -> None:
    run, plain = (prepare_run({**tiny, "precision": "bfloat16"}) for _ in range(2))
    model, seen = run.trainee.model, {}
    run.trainee.held.close()  # a CPU's kernels
    own = {name: vars(module).copy() for name, module in model.named_modules()}

    def note(name: str):
        def noted(module, given, out) -> None:
            seen[name] = (given[0].dtype, out.dtype)

        return noted

    noted = [
        module.register_forward_hook(note(name)) for name, module in model.named_modules()
        if type(module).__name__.endswith("RMSNorm")
    ]  # fmt: skip
    batch = run.prepared.source.step(0, 0)[0]
    with narrow.narrow_states(model, torch.bfloat16) as choice:
        assert "5 norms are one kernel each" in choice.reason
        loss = run.task.loss(run.trainee, batch, run.settings, 1 / batch.trained)
        loss.backward()
    for hook in noted:
        hook.remove()
    inner = {name: dtypes for name, dtypes in seen.items() if "layers" in name}
    assert len(inner) == 4
    assert set(inner.values()) == {(torch.bfloat16, torch.bfloat16)}
    exact = prepare_run({**tiny, "precision": "float32"})
    wanted, usual = (
        float(one.task.loss(one.trainee, batch, one.settings, 1 / batch.trained).detach()) for one in (exact, plain)
    )
    assert abs(float(loss.detach()) - wanted) < max(3 * abs(usual - wanted), 1e-2 * wanted)
    assert {parameter.grad.dtype for parameter in model.parameters()} == {torch.float32}
    assert {name: vars(module).keys() for name, module in model.named_modules()} == {
        name: values.keys() for name, values in own.items()
    }


def off(found: torch.Tensor, exact: torch.Tensor) -> float:
    return float((found.detach().double() - exact.detach()).norm() / exact.detach().norm())


def test_positions_turned_in_bfloat16_are_as_near_as_the_models_own() -> None:
    draw = torch.Generator().manual_seed(0)
    x, gradient = (torch.randn(1, 4, 64, 32, generator=draw, dtype=torch.float64) for _ in range(2))
    angles = torch.rand(1, 64, 16, generator=draw, dtype=torch.float64).repeat(1, 1, 2) * 6
    cos, sin = (part.bfloat16() for part in (angles.cos(), angles.sin()))

    def both(turn, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        given = x.bfloat16().to(dtype).requires_grad_()
        out = turn(given, cos.to(dtype), sin.to(dtype))
        return out, torch.autograd.grad(out, given, gradient.bfloat16().to(dtype))[0]

    def own(given: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return apply_rotary_pos_emb(given, given, cos, sin)[0]

    def ours(given: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return kernels.Rotation.apply(given, cos.unsqueeze(1), sin.unsqueeze(1))

    for found, usual, exact in zip(
        both(ours, torch.bfloat16), both(own, torch.bfloat16), both(own, torch.float64), strict=True
    ):
        assert off(found, exact) < 1.05 * off(usual, exact)
        assert off(found, exact) > 0
