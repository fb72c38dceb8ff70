"""What Inductor generates for a layer compiles for every chip, with the ptxas that Triton brings."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.cuda.child import ROOT
from tests.cuda.chips import CHIPS
from tests.cuda.environment import Environment

pytestmark = pytest.mark.cuda
PRODUCTS = 9  # three linear layers: forward, and twice backward


@pytest.fixture(scope="module")
def made(cuda: Environment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By chip: products left to cuBLAS, and the bytes of each kernel's cubin."""
    folder = tmp_path_factory.mktemp("kernels")
    own = {"TRITON_CACHE_DIR": str(folder / "triton"), "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
           "TORCHINDUCTOR_COMPILE_THREADS": "1"}  # fmt: skip
    done = subprocess.run(
        [str(cuda.python), "-m", "tests.cuda.generated", str(folder), *CHIPS], cwd=ROOT, text=True,
        env={**cuda.variables(ROOT), **own}, capture_output=True, timeout=1800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.parametrize("chip", CHIPS)
def test_a_layer_compiles(chip: str, made: dict[str, Any]) -> None:
    assert made[chip]["products"] == PRODUCTS
    assert len(made[chip]["cubins"]) == len(made["H100"]["cubins"]) > 0
    assert all(size > 1000 for size in made[chip]["cubins"].values())


def test_what_is_no_product_is_fused(made: dict[str, Any]) -> None:
    """Norm, SwiGLU, residual and casts of both passes: seven kernels, for some sixty operators."""
    assert len(made["H100"]["cubins"]) == 7


def test_each_chip_has_code_of_its_own(made: dict[str, Any]) -> None:
    assert len({json.dumps(made[chip]["cubins"]) for chip in ("T4", "A100", "H100", "B200")}) == 4
