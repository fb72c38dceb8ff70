"""What was wrong on GPUs and is seen only on one: each with the count that shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cuda.setups import SetUp
from tests.cuda.test_environment import told
from tests.cuda.test_steps import LOGS

pytestmark = pytest.mark.cuda
PLAIN: dict[str, Any] = {"precision": "bfloat16", "attention": "varlen"}


def last(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["error"] is None, answer["error"]["at"]
    found: dict[str, Any] = answer["steps"][-1]
    return found


def test_norms_within_layers_stay_as_narrow_as_the_products(run: Any) -> None:
    """Autocast widens what goes into torch's norm, and each product behind it would narrow again."""
    casts = [
        last(run(SetUp("sft", {**PLAIN, **more})))["by_kind"]["_to_copy"] for more in ({}, {"residual": "float32"})
    ]
    weights, layers = 7, 2
    rest = casts[0] - layers * 2 * weights  # a matrix's cast and that of its gradient
    assert rest < 30
    assert casts[1] - casts[0] >= layers * 2 * 4


def test_no_indexed_tensor_is_filled_with_zeros_on_the_way_back(run: Any) -> None:
    assert "select_backward" not in last(run(SetUp("sft", PLAIN)))["by_kind"]


def test_a_log_waits_once_for_the_device(run: Any) -> None:
    answer = run(SetUp("sft", PLAIN))
    assert last(answer)
    waits = [wait for wait in answer["waits"] if wait["phase"] == "log" and wait["what"] == "Event.synchronize"]
    assert [(wait["step"], wait["times"]) for wait in waits] == [(step, 1) for step in LOGS]


def test_shards_are_gathered_as_narrow_as_the_products(run: Any) -> None:
    narrow, wide = (
        last(run(SetUp("sft", {**PLAIN, "parallel": "fsdp2", **more}, world=8)))["collectives"]["_allgather_base_"]
        for more in ({}, {"exchange": "float32"})
    )
    assert wide == pytest.approx(2 * narrow, rel=0.01)


def test_whole_models_exchange_while_they_compute(run: Any) -> None:
    """Of 135M weights, more than half of the bytes are on their way before the last tenth of the launches."""
    step = last(run(SetUp("sft", {**PLAIN, "parallel": "ddp", "max_steps": 1}, "135m", world=8)))
    gradients = [sent for sent in step["sent"] if sent["size"] > 1 << 20]
    early = sum(sent["size"] for sent in gradients if sent["kernels"] < 0.9 * step["kernels"])
    total = sum(sent["size"] for sent in gradients)
    assert total == pytest.approx(2 * 134.5e6, rel=0.01), "in bfloat16"
    assert early > total / 2


def test_a_checkpoint_is_copied_into_page_locked_memory_beside_the_training(cuda: Any) -> None:
    code = """
import torch
from tests.cuda.chips import CHIPS
from tests.cuda.device import Device, PretendMode, Stream
waits, used = [], []
Device(waits.append).appear(CHIPS["H100"])
from trainer.checkpoints.staging import Staging
enter = Stream.__enter__
Stream.__enter__ = lambda stream: used.append(stream) or enter(stream)
torch.cuda.stream = lambda stream: stream
empty, asked = torch.empty, []
torch.empty = lambda *shape, pin_memory=False, **more: asked.append(pin_memory) or empty(*shape, **more)
with PretendMode():
    weight = torch.ones(1000, 1000, device="cuda")
    staging = Staging()
    first = staging.copies({"model": {"w": weight}})["model"]["w"]
    again = staging.copies({"model": {"w": weight}})["model"]["w"]
    before = list(waits)
    staging.wait()
print(first.device.type, first is again, asked.count(True), len(used), before, waits)
"""
    assert told(cuda, code) == "cpu True 1 2 [] ['Event.synchronize']"


def test_the_way_back_to_the_host_is_probed(cuda: Any, tmp_path: Path) -> None:
    code = """
import torch
from tests.cuda.chips import CHIPS
from tests.cuda.device import Device, PretendMode
Device(lambda what: None).appear(CHIPS["H100"])
from trainer.measure import reference
reference.SECONDS = reference.LONG = 0.01
with PretendMode():
    print(*sorted(reference.probe(torch.device("cuda", 0))))
"""
    assert {"device_to_pinned_gbs", "pinned_to_device_gbs", "matmul_bf16_median_gflops"} <= set(
        told(cuda, code).split()
    )
