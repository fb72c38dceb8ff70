"""The kept environment and the device in it are what the suite takes them for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cuda import environment
from tests.cuda.child import ROOT
from tests.cuda.environment import Environment, NoEnvironment

pytestmark = pytest.mark.cuda


def told(cuda: Environment, code: str) -> str:
    done = subprocess.run(
        [str(cuda.python), "-c", code], cwd=ROOT, env=cuda.variables(ROOT), capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_torch_is_the_cuda_build(cuda: Environment) -> None:
    version, cuda_version = told(cuda, "import torch; print(torch.__version__, torch.version.cuda)").split()
    assert version.startswith("2.13.0+cu")
    assert cuda_version != "None"


def test_the_stubs_alone_pretend_nothing(cuda: Environment) -> None:
    assert told(cuda, "import torch; print(torch.cuda.is_available(), torch.cuda.device_count())") == "False 0"


def test_numbers_of_the_device_are_not_there(cuda: Environment) -> None:
    code = """
import torch
from tests.cuda.chips import CHIPS
from tests.cuda.device import Device, PretendMode
Device(print).appear(CHIPS["H100"])
with PretendMode():
    x = torch.randn(3, device="cuda", requires_grad=True)
    x.square().sum().backward()
    print(x.grad.device, torch.cuda.get_device_name())
    try:
        x.sum().item()
    except Exception as error:
        print(type(error).__name__)
"""
    assert told(cuda, code).splitlines() == ["cuda:0 NVIDIA H100 80GB HBM3", "DataDependentOutputException"]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "thesis.tex").write_text("...")
    with pytest.raises(NoEnvironment, match="holds something else"):
        environment.ensure(tmp_path / "env", "python")
    assert (tmp_path / "env" / "thesis.tex").exists()


def test_the_folder_is_the_one_that_the_variable_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ENVDOCTOR_CUDA_ENV", raising=False)
    assert environment.default_folder() == tmp_path / "envdoctor" / "cuda-environment"
    monkeypatch.setenv("ENVDOCTOR_CUDA_ENV", str(tmp_path / "mine"))
    assert environment.default_folder() == tmp_path / "mine"
