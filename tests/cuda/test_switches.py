"""What a switch of the trainer does to a step, by count: exchange behind the pass, checkpoints without staging."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cuda.setups import SetUp
from tests.cuda.test_environment import told

pytestmark = pytest.mark.cuda
PLAIN: dict[str, Any] = {"precision": "bfloat16", "attention": "varlen", "max_steps": 1}


def test_without_overlap_no_gradient_is_sent_before_the_last_pass_is_over(run: Any) -> None:
    """Of 135M weights: with it most of the bytes are on their way before the last tenth of the launches."""
    early = {}
    for overlap in (True, False):
        answer = run(SetUp("sft", {**PLAIN, "parallel": "ddp", "overlap": overlap}, "135m", world=8))
        assert answer["error"] is None, answer["error"]["at"]
        step = answer["steps"][-1]
        sent = [one for one in step["sent"] if one["size"] > 1 << 20]
        assert sum(one["size"] for one in sent) == pytest.approx(2 * 134.5e6, rel=0.01), "in bfloat16"
        early[overlap] = sum(one["size"] for one in sent if one["flops"] < step["flops"])
    assert early[True] > 2 * 134.5e6 / 2
    assert early[False] == 0


def test_a_blocking_checkpoint_takes_no_page_locked_memory_no_stream_and_no_thread(cuda: Any) -> None:
    code = """
import threading, torch
from tests.cuda.chips import CHIPS
from tests.cuda.device import Device, PretendMode, Stream
waits, used, written = [], [], []
Device(waits.append).appear(CHIPS["H100"])
from trainer.checkpoints import save
def write(parent, name, tensors, state, keep, part):
    written.append((threading.current_thread().name, tensors["model"]["w"].device.type))
save.write = write
Stream.__enter__ = lambda stream: used.append(stream) or stream
torch.cuda.stream = lambda stream: stream
empty, asked = torch.empty, []
torch.empty = lambda *shape, pin_memory=False, **more: asked.append(pin_memory) or empty(*shape, **more)
with PretendMode():
    weight = torch.ones(1000, 1000, device="cuda")
    for blocking in (False, True):
        saver = save.Saver("c", 2, blocking)
        saver.save("step-00000001", {"model": {"w": weight}}, {})
        saver.before_change()
        saver.wait()
        print(asked.count(True), len(used), *written.pop())
"""
    assert told(cuda, code).splitlines() == ["1 1 checkpoint cpu", "1 1 MainThread cpu"]
