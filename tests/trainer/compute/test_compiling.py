"""When compiling pays, and where compiled code is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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


def test_a_gpu_needs_triton_a_c_compiler_and_pythons_header(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = torch.device("cuda")
    monkeypatch.setattr(compiling.util, "find_spec", lambda name: None)
    assert compiling.missing_tool(cuda) == "triton"
    monkeypatch.setattr(compiling.util, "find_spec", lambda name: object())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert compiling.missing_tool(cuda) == "C compiler"
    (tmp_path / "gcc").write_text("#!/bin/sh\n")
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setattr(compiling.sysconfig, "get_path", lambda name: str(tmp_path))
    assert "Python.h" in compiling.missing_tool(cuda)
    (tmp_path / "Python.h").write_text("")
    assert compiling.missing_tool(cuda) is None


@pytest.mark.slow
def test_a_compiler_that_fails_leaves_the_run_uncompiled_and_says_why(tiny: dict, tmp_path) -> None:
    """In a process of its own: what this one has compiled already would not be compiled again."""
    broken = tmp_path / "g++"
    broken.write_text("#!/bin/sh\necho 'no such header' >&2\nexit 1\n")
    broken.chmod(0o755)
    settings = {**tiny, "compile": "on", "max_steps": 2, "save_model": False, "output": str(tmp_path / "run")}
    (tmp_path / "s.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-m", "trainer", "sft", "--config", str(tmp_path / "s.json"), "--report", str(tmp_path / "r")],
        env={**os.environ, "CXX": str(broken), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "i")},
        cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    choices = {choice["what"]: choice for choice in json.loads((tmp_path / "r").read_text())["choices"]}
    assert choices["compile"]["value"] == "off"
    assert "trial failed" in choices["compile"]["reason"]
