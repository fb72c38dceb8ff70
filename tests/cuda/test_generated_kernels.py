"""Each kernel that Inductor writes for the trainer's own step compiles for every chip, with the ptxas of Triton."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cuda.child import ROOT
from tests.cuda.chips import CHIPS
from tests.cuda.cubins import Made, architecture_of
from tests.cuda.environment import Environment

pytestmark = pytest.mark.cuda
LAYERS = 2
# By chip: number format and attention of compiled layers, and what becomes of attention in their graphs.
IN_GRAPH, BETWEEN = "attention in the graph", "two graphs a layer, with attention between them"
EXPECTED = dict.fromkeys(CHIPS, ("bfloat16", "varlen", IN_GRAPH)) | {"T4": ("float16", "documents", BETWEEN)}


@pytest.fixture(scope="module")
def made(cuda: Environment, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Any]]:
    """By chip and what was compiled: choices, launches, and each kernel's cubins."""
    folder = tmp_path_factory.mktemp("kernels")
    own = {"TRITON_CACHE_DIR": str(folder / "triton"), "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}
    done = subprocess.run(
        [str(cuda.python), "-W", "ignore", "-m", "tests.cuda.generated", str(folder), *CHIPS], cwd=ROOT, text=True,
        env={**cuda.variables(ROOT), **own}, capture_output=True, timeout=7200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {(one["chip"], one["what"]): one for one in answers}


def kernels(answer: dict[str, Any]) -> dict[str, list[Made]]:
    assert answer["error"] is None, answer["error"]
    return {name: [Made(**one) for one in cubins] for name, cubins in answer["kernels"].items()}


@pytest.mark.parametrize("what", ["plain", "lora", "flex", "flex float32"])
@pytest.mark.parametrize("chip", CHIPS)
def test_every_kernel_of_a_step_has_cubins_that_the_chip_can_launch(
    chip: str, what: str, made: dict[tuple[str, str], dict[str, Any]]
) -> None:
    found = kernels(made[chip, what])
    launched = {name for name in made[chip, what]["launched"] if name.startswith("triton_")}
    assert launched
    assert launched <= set(found)
    assert {name: [one.why_not(CHIPS[chip]) for one in cubins] for name, cubins in found.items()} == {
        name: [None] * max(1, len(cubins)) for name, cubins in found.items()
    }
    assert all(one.size > 1000 for cubins in found.values() for one in cubins)


@pytest.mark.parametrize("what", ["plain", "lora"])
@pytest.mark.parametrize("chip", CHIPS)
def test_layers_are_compiled_as_each_chip_has_them(
    chip: str, what: str, made: dict[tuple[str, str], dict[str, Any]]
) -> None:
    """Norm, positions, SwiGLU and residual are Inductor's, and what it has no registers for is in no layer."""
    answer = made[chip, what]
    precision, attention, how = EXPECTED[chip]
    assert (answer["choices"]["precision"], answer["choices"]["attention"]) == (precision, attention)
    assert answer["choices"]["compile"] == "on"
    assert answer["reasons"]["compile"].endswith(how)
    launched = answer["launched"]
    assert launched.get("_varlen_attn", 0) == launched.get("_varlen_attn_backward", 0) == LAYERS * (how == IN_GRAPH)
    for word in ("rms_norm" if how == IN_GRAPH else "rsqrt", "silu", "silu_backward", "neg"):
        assert any(word in name for name in launched if name.startswith("triton_")), word
    assert not {"silu", "silu_backward"} & set(launched)
    assert [name for name, cubins in kernels(answer).items() if max(one.spilled for one in cubins)] == []


@pytest.mark.parametrize("what", ["plain", "lora"])
def test_each_chip_has_code_of_its_own(what: str, made: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert len({json.dumps(made[chip, what]["kernels"]) for chip in CHIPS}) == len(CHIPS)


@pytest.mark.parametrize("chip", CHIPS)
def test_flex_spills_where_it_is_not_chosen_by_itself(
    chip: str, made: dict[tuple[str, str], dict[str, Any]], golden: Any
) -> None:
    """Bytes of each thread's stack in its kernels, forward and backward; one SDPA for each document stands before it
    there. Where this test fails with less, that is to be decided anew.
    """
    for what in ("flex", "flex float32"):
        assert made[chip, what]["choices"]["attention"] == "flex"
        forward, backward = (
            max(max(one.spilled for one in cubins) for name, cubins in kernels(made[chip, what]).items() if is_it(name))
            for is_it in (lambda name: _is_forward(name), lambda name: "flex" in name and not _is_forward(name))
        )
        golden("flex").compare(f"{chip} {what}", {"forward": forward, "backward": backward})
        if what == "flex float32" or CHIPS[chip].capability < (8, 0):
            assert max(forward, backward) > 1000


def _is_forward(name: str) -> bool:
    return "tem_fused_flex_attention" in name and "backward" not in name


def test_an_architecture_is_read_from_the_file_itself(tmp_path: Path) -> None:
    head = bytearray(64)
    head[8], head[48:52] = 7, (0x5A0D5A).to_bytes(4, "little")
    assert architecture_of(bytes(head)) == 90
    head[8], head[48:52] = 8, (0x6006402).to_bytes(4, "little")
    assert architecture_of(bytes(head)) == 100
