"""When compiling pays, and where compiled code is kept."""

from __future__ import annotations

import os

import pytest
import torch

from tests.trainer.running import gradients, prepare_run
from trainer.compute import compiling

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("steps", "seconds", "on"),
    [
        (10, 0.2, False),  # a try-out
        (230, 1.0, False),  # 230 s x 13 % = 29.9 s, less than 36
        (300, 1.0, True),
        (100_000, 0.001, False),  # long, but of tiny steps
        (100_000, 0.2, True),
    ],
)
def test_only_long_runs_compile(steps: int, seconds: float, on: bool) -> None:
    decision = compiling.decide(steps, seconds, "cpu", None)
    assert decision.on is on
    assert f"{steps} steps" in decision.reason


def test_the_break_even_is_where_the_margin_says() -> None:
    enough = compiling.PAYS * compiling.COLD_START["cuda"] / compiling.SAVING["cuda"]
    assert not compiling.decide(int(enough) - 1, 1.0, "cuda", None).on
    assert compiling.decide(int(enough) + 1, 1.0, "cuda", None).on


def test_without_a_compiler_or_a_prediction_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not compiling.decide(10**6, 1.0, "cpu", "C++ compiler").on
    assert "C++ compiler" in compiling.decide(10**6, 1.0, "cpu", "C++ compiler").reason
    assert not compiling.decide(10**6, None, "cuda", None).on
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CXX", raising=False)
    assert compiling.missing_tool(CPU) == "C++ compiler"


def test_a_predicted_step_grows_with_its_work() -> None:
    small, large = compiling.predicted_seconds(1e9, CPU), compiling.predicted_seconds(1e12, CPU)
    assert 0 < small < large


def test_the_cache_is_one_environments_own(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    first = compiling.fingerprint(CPU)
    folder = compiling.keep_compiled(CPU)
    assert folder == tmp_path / "envdoctor-trainer" / "compiled" / first
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(folder / "inductor")
    monkeypatch.setattr("importlib.metadata.version", lambda name: "9.9")
    assert compiling.fingerprint(CPU) != first
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/mine")
    compiling.keep_compiled(CPU)
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "/mine"


@pytest.mark.slow
def test_compiled_layers_give_the_same_gradients(tiny: dict) -> None:
    plain, compiled = prepare_run({**tiny, "compile": "off"}), prepare_run({**tiny, "compile": True})
    batches = plain.prepared.source.step(0, 0)
    left, right = gradients(plain, batches), gradients(compiled, batches)
    assert left[0] == pytest.approx(right[0], abs=1e-5)
    assert all(torch.allclose(left[1][name], right[1][name], rtol=1e-4, atol=1e-6) for name in left[1])
