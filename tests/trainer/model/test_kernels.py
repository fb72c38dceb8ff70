"""The CPU kernels against the models' own functions: values, gradients, and what must stay untouched."""

from __future__ import annotations

import gc

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from tests.trainer.conftest import TINY
from tests.trainer.running import gradients, prepare_run
from trainer.model import kernels
from trainer.model.build import build
from trainer.options.settings import from_mapping

IDS = torch.arange(24).view(2, 12) * 37 % 2048


def model_of(kind: str) -> torch.nn.Module:
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(AutoConfig.for_model(**{**TINY, "model_type": kind}))


def loss_and_gradients(model: torch.nn.Module) -> tuple[float, dict]:
    model.zero_grad()
    loss = model(IDS, labels=IDS).loss
    loss.backward()
    return float(loss.detach()), {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("shape", [(3, 8), (2, 3, 6)])
def test_root_mean_square_has_the_right_gradient(shape: tuple) -> None:
    x = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(shape[-1], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: kernels.RootMeanSquare.apply(a, b, 1e-5, torch.float64), (x, weight))


def test_rotation_has_the_right_gradient_even_where_the_halves_turn_differently() -> None:
    x = torch.randn(1, 2, 3, 8, dtype=torch.float64, requires_grad=True)
    cos, sin = torch.randn(2, 1, 1, 3, 8, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda a: kernels.Rotation.apply(a, cos, sin), (x,))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_run_on_a_cpu_computes_with_them_in_the_precisions_it_chooses_by_itself(tiny: dict, precision: str) -> None:
    trainee = build(from_mapping({**tiny, "precision": precision}, "test"), None)
    (found,) = (choice.value for choice in trainee.choices if choice.what == "kernels")
    assert found == "RMSNorm in 5 places, rotary positions"
    norm = trainee.model.model.layers[0].input_layernorm
    with trainee.computing():
        given = norm(torch.randn(3, norm.weight.shape[0], requires_grad=True))
    assert given.grad_fn.name() == "RootMeanSquareBackward"
    assert given.dtype == trainee.dtype
    trainee.held.close()
    assert "forward" not in vars(norm)


@pytest.mark.parametrize("kind", ["llama", "qwen2", "mistral"])
def test_models_compute_the_same_with_them_and_are_their_own_again_after(kind: str) -> None:
    model = model_of(kind)
    expected, gradients = loss_and_gradients(model)
    with kernels.install_kernels(model) as choice:
        assert choice.value == "RMSNorm in 5 places, rotary positions"
        loss, found = loss_and_gradients(model)
    assert loss == pytest.approx(expected, rel=1e-6)
    for name, gradient in gradients.items():
        assert torch.allclose(found[name], gradient, rtol=1e-4, atol=1e-7), name
    assert not any("forward" in vars(module) for module in model.modules())
    assert loss_and_gradients(model)[0] == expected


def test_frozen_weights_get_no_gradient() -> None:
    model = model_of("llama")
    norm = model.model.norm
    norm.weight.requires_grad_(False)
    with kernels.install_kernels(model):
        _, found = loss_and_gradients(model)
    assert "model.norm.weight" not in found
    assert "model.layers.0.input_layernorm.weight" in found


def test_a_norm_that_computes_something_else_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of("llama")
    kind = type(model.model.norm)
    own = kind.forward
    monkeypatch.setattr(kind, "forward", lambda self, x: own(self, x) * 1.01)  # as Gemma's (1 + weight) differs
    with kernels.install_kernels(model) as choice:
        assert choice.value == "rotary positions"


def test_a_model_without_either_is_left_alone() -> None:
    config = AutoConfig.for_model("gpt2", n_embd=32, n_layer=1, n_head=2, vocab_size=64, bos_token_id=0, eos_token_id=0)
    with kernels.install_kernels(AutoModelForCausalLM.from_config(config)) as choice:
        assert choice.value == "the model's own"


def bits(model: torch.nn.Module) -> list:
    loss, found = loss_and_gradients(model)
    return [torch.tensor(loss), *found.values()]


def equal(left: list, right: list) -> bool:
    return len(left) == len(right) and all(map(torch.equal, left, right))


def test_two_models_at_once_do_not_undo_each_other() -> None:
    first, second = model_of("llama"), model_of("llama")
    own = bits(second)
    with kernels.install_kernels(second):
        alone = bits(second)
    assert not equal(alone, own)  # they round differently: who computes with which can be told
    outer = kernels.install_kernels(first)
    outer.__enter__()
    with kernels.install_kernels(second) as choice:
        assert choice.value == "RMSNorm in 5 places, rotary positions"
        assert equal(bits(second), alone)
        outer.__exit__(None, None, None)
        assert equal(bits(second), alone)
    assert equal(bits(second), own)
    assert not any("forward" in vars(module) for model in (first, second) for module in model.modules())


def test_a_run_that_nobody_ended_takes_nothing_from_the_next_when_it_is_collected(tiny: dict) -> None:
    left = {"run": prepare_run(tiny)}
    left["itself"] = left  # only the cycle collector finds it
    second = prepare_run(tiny)
    batches = second.prepared.source.step(0, 0)
    before = gradients(second, batches)[1]
    del left
    gc.collect()
    after = gradients(second, batches)[1]
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_under_autocast_the_last_norm_stays_wide_and_gradients_are_as_good() -> None:
    """As near to the gradients in float32 as the model's own way comes."""
    model = model_of("llama")

    def gradients(narrow: bool) -> list:
        model.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=narrow):
            loss = model(IDS, labels=IDS).loss
        loss.backward()
        return [parameter.grad.clone() for parameter in model.parameters()]

    def off(found: list) -> float:
        return max(float((a - b).norm() / b.norm()) for a, b in zip(found, exact, strict=True))

    exact, own = gradients(False), gradients(True)
    with kernels.install_kernels(model):
        ours = gradients(True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert model.model(IDS).last_hidden_state.dtype == torch.float32
    assert not torch.equal(ours[0], own[0])
    assert 0 < off(ours) < 2 * off(own) < 0.2
