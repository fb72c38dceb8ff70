"""Launches for each sampled token: as many as there are kernels with a growing cache, a few with one of one size."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cuda.child import ROOT
from tests.cuda.environment import Environment

pytestmark = pytest.mark.cuda


def test_a_static_cache_is_launched_as_graphs(cuda: Environment, tmp_path: Path) -> None:
    own = {"TRITON_CACHE_DIR": str(tmp_path / "triton"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor")}
    done = subprocess.run(
        [str(cuda.python), "-W", "ignore", "-m", "tests.cuda.sampled", str(tmp_path), "slice"], cwd=ROOT, text=True,
        env={**cuda.variables(ROOT), **own}, capture_output=True, timeout=1800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    growing, static = (json.loads(done.stdout)["slice"][cache] for cache in ("dynamic", "static"))
    assert growing["graphs"] == 0
    assert growing["launches"] == growing["kernels"]
    assert static["graphs"] >= 1
    assert static["launches"] < static["kernels"]
    assert static["launches"] < growing["launches"]
