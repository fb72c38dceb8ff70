"""A layer and its adapter as one node compute what peft computes, forward and backward."""

from __future__ import annotations

import pytest
import torch

from tests.trainer.model.test_lora import adapted, batch_of
from tests.trainer.running import gradients, prepare_run, weights
from trainer import loop
from trainer.model.adapted import AdaptedLinear


def nodes(run) -> list:
    return [module for module in run.trainee.model.modules() if hasattr(module, "lora_A") and "forward" in vars(module)]


@pytest.mark.parametrize("bias", [True, False])
def test_its_gradients_are_those_of_finite_differences(bias: bool) -> None:
    draw = torch.Generator().manual_seed(0)
    x, weight, down, up, constant = (
        torch.randn(shape, generator=draw, dtype=torch.float64, requires_grad=trained)
        for shape, trained in (((7, 12), True), ((9, 12), False), ((3, 12), True), ((9, 3), True), ((9,), False))
    )
    given = constant if bias else None
    assert torch.autograd.gradcheck(lambda *t: AdaptedLinear.apply(t[0], weight, given, *t[1:], 1.7), (x, down, up))


def test_it_trains_as_peft_does(tiny: dict) -> None:
    """Six steps at a rank and scale that round."""
    values = {**tiny, "lora_rank": 3, "lora_alpha": 5.0, "max_steps": 6, "learning_rate": 1e-2}
    ours, theirs = prepare_run(values), prepare_run({**values, "lora_fused": False})
    assert len(nodes(ours)) == 14
    assert nodes(theirs) == []
    for run in (ours, theirs):
        loop.train(run, [])
    assert ours.history.losses[-1] < ours.history.losses[0]
    assert ours.history.losses == pytest.approx(theirs.history.losses, rel=1e-5)
    after = weights(theirs)
    for name, weight in weights(ours).items():
        assert torch.allclose(weight, after[name], atol=1e-4), name


def test_bfloat16_is_as_near_to_float32_as_pefts(tiny: dict) -> None:
    exact, ours, theirs = (
        gradients(run, run.prepared.source.step(0, 0))[1]
        for run in (adapted(tiny), adapted(tiny, precision="bfloat16"),
                    adapted(tiny, precision="bfloat16", lora_fused=False))
    )  # fmt: skip

    def off(found: dict) -> float:
        return float(sum((found[name] - exact[name]).norm() for name in exact))

    assert off(ours) < 1.1 * off(theirs)


@pytest.mark.parametrize("more", [{"lora_dropout": 0.1}, {"dora": True}])
def test_what_does_more_stays_pefts(tiny: dict, more: dict) -> None:
    assert nodes(adapted(tiny, **more)) == []


def test_adapters_that_are_switched_off_do_nothing(tiny: dict) -> None:
    run, plain = adapted(tiny), prepare_run(tiny)
    with torch.no_grad():
        with run.trainee.adapters.disable_adapter():
            alone = run.trainee.hidden(batch_of(run))
        assert torch.equal(alone, plain.trainee.hidden(batch_of(plain)))
        assert not torch.allclose(run.trainee.hidden(batch_of(run)), alone, atol=1e-3)


@pytest.mark.slow
def test_compiled_layers_give_the_same_gradients(tiny: dict) -> None:
    plain, compiled = adapted({**tiny, "compile": "off"}), adapted({**tiny, "compile": "on"})
    left, right = (gradients(run, run.prepared.source.step(0, 0))[1] for run in (plain, compiled))
    for name in left:
        assert torch.allclose(left[name], right[name], atol=1e-5), name
