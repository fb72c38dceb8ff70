"""Liger's kernels without a GPU: called by the trainer's step, computed by Triton's interpreter, compiled by ptxas."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cuda import environment as environments
from tests.cuda.child import ROOT, Child
from tests.cuda.chips import CHIPS
from tests.cuda.environment import Environment
from tests.cuda.setups import SetUp
from tests.trainer.compute.test_parallel import values_in
from tests.trainer.features import FEATURES
from tests.trainer.test_features import answer_of, held, values_of

pytestmark = pytest.mark.cuda
BOTH = "SwiGLU in 2 places, rotary positions"
PLAIN: dict[str, Any] = {"precision": "bfloat16", "attention": "varlen", "max_steps": 2}


@pytest.fixture(scope="module")
def liger(cuda: Environment) -> Path:
    return environments.library(cuda, environments.LIGER)


@pytest.fixture
def told(cuda: Environment, liger: Path, tmp_path: Path) -> Any:
    def asked(*words: str, **more: str) -> dict[str, Any]:
        own = {**cuda.variables(ROOT, liger), "TRITON_CACHE_DIR": str(tmp_path), **more}
        done = subprocess.run(
            [str(cuda.python), "-W", "ignore", "-m", "tests.cuda.liger", *words], cwd=ROOT, env=own, text=True,
            capture_output=True, timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    return asked


@pytest.fixture(scope="module")
def step(cuda: Environment, liger: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A run's answer on a device that is not there, where Liger is installed."""
    child = Child(cuda, tmp_path_factory.mktemp("device"), libraries=[liger])
    yield child.run
    child.close()


def test_losses_and_gradients_are_the_models_own(told: Any) -> None:
    families = {"llama": BOTH, "qwen3": BOTH, "mistral": BOTH, "olmo2": BOTH, "gemma": "rotary positions"}
    found = told("numbers", *families, TRITON_INTERPRET="1")
    assert {family: one["value"] for family, one in found.items()} == families
    assert all(one["off"] < 1e-5 for one in found.values()), found
    assert all(one["restored"] and one["random_state_kept"] for one in found.values())
    assert found["gemma"]["reason"] == "SwiGLU: LookupError: no layer is gated; tried and exact"


def test_a_run_without_them_has_the_same_losses(cuda: Environment, liger: Path, tmp_path: Path) -> None:
    """The row of `tests/trainer/features.py` that needs Triton: the trainer's own steps, both ways, interpreted."""
    name = "Liger's kernels"
    variables = {**cuda.variables(ROOT, liger), "TRITON_INTERPRET": "1"}
    values = values_of(FEATURES[name], values_in(tmp_path), tmp_path)
    held(name, answer_of(name, values, tmp_path / "runs", str(cuda.python), variables))


def test_kernels_that_compute_something_else_are_not_believed(told: Any) -> None:
    found = told("planted", TRITON_INTERPRET="1")
    assert found["own"]
    assert found["value"] == "off"
    assert "SwiGLU: ArithmeticError: result 0 is off by" in found["reason"]
    assert "rotary positions: ArithmeticError: result 0 is off by" in found["reason"]


def test_every_chip_can_be_compiled_for(told: Any) -> None:
    found = told("cubins", *CHIPS)
    assert {chip: len(kernels) for chip, kernels in found.items()} == dict.fromkeys(CHIPS, 4)
    assert all(size > 1000 for kernels in found.values() for size in kernels.values())


@pytest.mark.parametrize("more", [{}, {"lora_rank": 8}, {"recompute": "full"}])
def test_a_step_calls_them_and_nothing_waits(step: Any, more: dict[str, Any]) -> None:
    off, on = (step(SetUp("sft", {**PLAIN, **more, "liger": how})) for how in ("off", "auto"))
    for answer in (off, on):
        assert answer["error"] is None, answer["error"]["at"]
        assert [wait for wait in answer["waits"] if wait["phase"] == "step"] == []
    assert "liger" not in off["choices"]
    assert on["choices"]["liger"] == BOTH
    before, after = (answer["steps"][-1] for answer in (off, on))
    layers, passes = 2, 2 if more.get("recompute") else 1
    kinds = after["by_kind"]
    assert kinds["_swiglu_forward_kernel"] == layers * passes
    assert kinds["_swiglu_backward_kernel"] == layers
    assert kinds["_triton_rope"] == layers * (passes + 1)
    assert {"silu", "silu_backward"} <= set(before["by_kind"])
    assert not {"silu", "silu_backward"} & set(kinds)
    assert after["kernels"] < before["kernels"]
    assert after["bytes"] < before["bytes"]
    assert after["flops"] == before["flops"]


def test_a_gated_layer_keeps_two_tensors_instead_of_three(step: Any) -> None:
    """The trainer counts what is kept on its own model, and so plans with what it saves."""
    values = {**PLAIN, "tokens_per_row": 8192, "max_steps": 2}
    peaks, estimates = zip(*(
        (max(one["peak"] for one in answer["steps"]), max(answer["estimates"]))
        for answer in (step(SetUp("sft", {**values, "liger": how}, "135m")) for how in ("off", "auto"))
    ), strict=True)  # fmt: skip
    saved = 30 * 8192 * 1536 * 2
    assert peaks[0] - peaks[1] == pytest.approx(saved, rel=0.1)
    assert estimates[0] - estimates[1] == pytest.approx(saved, rel=0.1)


def test_without_the_library_layers_are_the_models_own(run: Any) -> None:
    off, on = (run(SetUp("sft", {**PLAIN, "liger": how})) for how in ("off", "auto"))
    assert on["choices"]["liger"] == "off"
    assert on["steps"][-1]["kernels"] == off["steps"][-1]["kernels"]
