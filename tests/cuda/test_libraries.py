"""Steps through libraries that one setting needs, and what of it cannot be run on tensors without content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.cuda import environment as environments
from tests.cuda.child import Child
from tests.cuda.environment import BITSANDBYTES, TORCHAO, Environment
from tests.cuda.setups import SetUp

pytestmark = pytest.mark.cuda
PLAIN: dict[str, Any] = {"precision": "bfloat16", "attention": "varlen"}
WEIGHTS, MATRICES = 20, 14  # of the two layers, the embedding and the last norm


@dataclass(frozen=True)
class Row:
    """waits: how often the host waits in each step, and for what. refused: what is said by the library that takes no
    tensors without content. choice: what the trainer said, "CHOICE: VALUE".
    """

    set_up: SetUp
    waits: dict[str, int] = field(default_factory=dict)
    refused: str = ""
    choice: str = ""


ROWS = {
    # Only torch's fused kernels ask on the device whether the gradient is finite: all others read that number. torch's
    # Adafactor reads the size of each weight and of its change as well, and bitsandbytes waits behind each weight.
    "adafactor": Row(
        SetUp("sft", {**PLAIN, "moments": "adafactor"}, tolerant=True), {"reading a number": 1 + 2 * WEIGHTS}
    ),
    "moments in 8 bits": Row(
        SetUp("sft", {**PLAIN, "moments": "8bit"}, tolerant=True), {"reading a number": 1, "cuda.synchronize": WEIGHTS}
    ),
    "products in 8 bits": Row(SetUp("sft", {**PLAIN, "float8": "rowwise"}, "wide"), choice="float8: rowwise"),
    "the same without": Row(SetUp("sft", PLAIN, "wide")),
    "frozen weights in 4 bits": Row(
        SetUp("sft", {**PLAIN, "lora_rank": 8, "quantize": "4bit"}),
        refused="Creating a new Tensor subclass Params4bit but the raw Tensor object is already associated",
    ),
    "frozen weights in 8 bits": Row(
        SetUp("sft", {**PLAIN, "lora_rank": 8, "quantize": "8bit"}),
        refused="Creating a new Tensor subclass Int8Params but the raw Tensor object is already associated",
    ),
}


@pytest.fixture(scope="module")
def answers(cuda: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A row's answer where the libraries are installed, run once."""
    folders = [environments.library(cuda, package) for package in (BITSANDBYTES, TORCHAO)]
    child, known = Child(cuda, tmp_path_factory.mktemp("device"), libraries=folders), {}

    def answer(name: str) -> dict[str, Any]:
        if name not in known:
            known[name] = child.run(ROWS[name].set_up)
        found: dict[str, Any] = known[name]
        return found

    yield answer
    child.close()


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if not row.refused])
def test_a_step(name: str, answers: Any, golden: Any) -> None:
    row, answer = ROWS[name], answers(name)
    assert answer["error"] is None, answer["error"]["at"]
    for step in range(1, len(answer["steps"])):  # in the first one states are made, too
        found = [wait for wait in answer["waits"] if (wait["phase"], wait["step"]) == ("step", step)]
        assert {wait["what"]: wait["times"] for wait in found} == row.waits
    if row.choice:
        what, _, value = row.choice.partition(": ")
        assert answer["choices"][what] == value
    last = answer["steps"][-1]
    golden("libraries").compare(row.set_up.name, {key: last[key] for key in ("operators", "kernels", "copies")})


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.refused])
def test_what_needs_numbers_is_refused(name: str, answers: Any) -> None:
    """Not the trainer refuses: what it does with such weights is tested on a CPU, and was never run on a GPU."""
    error = answers(name)["error"]
    assert error is not None, "it can be run now: give it a row of numbers"
    assert ROWS[name].refused in error["text"]


def test_products_of_wide_layers_are_in_8_bits(answers: Any) -> None:
    """Three products of five of each layer's matrices, through the operator for them; keys and values are narrow."""
    narrow, plain = (answers(name)["steps"][-1] for name in ("products in 8 bits", "the same without"))
    assert narrow["by_kind"]["_scaled_mm"] == 2 * 3 * 5
    assert "_scaled_mm" not in plain["by_kind"]
    assert narrow["flops"] == pytest.approx(plain["flops"], rel=1e-3)  # tokens are padded to sixteens


def test_moments_in_8_bits_are_updated_by_their_own_kernel(answers: Any) -> None:
    kinds = answers("moments in 8 bits")["steps"][-1]["by_kind"]
    assert kinds["optimizer_update_8bit_blockwise"] == MATRICES
    assert kinds["optimizer_update_32bit"] == WEIGHTS - MATRICES
    assert not [kind for kind in kinds if "fused_adamw" in kind]
