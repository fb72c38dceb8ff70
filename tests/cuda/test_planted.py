"""Defects planted on purpose into a copy of the trainer are found."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cuda.child import ROOT
from tests.cuda.setups import SetUp

pytestmark = pytest.mark.cuda
PLAIN = SetUp("sft", {"precision": "bfloat16", "attention": "varlen"})


def copy_with(folder: Path, line: str, instead: str) -> Path:
    """A copy of the trainer in which one line, which one module has once, is another."""
    shutil.copytree(ROOT / "trainer", folder / "trainer", ignore=shutil.ignore_patterns("__pycache__"))
    found = [path for path in (folder / "trainer").rglob("*.py") if line in path.read_text("utf-8")]
    assert len(found) == 1, f"{line!r} is in {found}"
    text = found[0].read_text("utf-8")
    assert text.count(line) == 1
    found[0].write_text(text.replace(line, instead), "utf-8")
    return folder


def test_a_number_read_in_the_loss(elsewhere: Any, tmp_path: Path) -> None:
    line = "step_loss = step_loss + loss.detach()"
    answer = elsewhere(copy_with(tmp_path, line, "step_loss = step_loss + loss.item()")).run(PLAIN)
    assert answer["error"]["type"] == "HostSync"
    assert "reading a number in step 0, in loop.gradients" in answer["error"]["text"]


def test_a_copy_that_waits(elsewhere: Any, tmp_path: Path) -> None:
    line = "return self._each(lambda tensor: tensor.to(device, non_blocking=True))"
    answer = elsewhere(copy_with(tmp_path, line, "return self._each(lambda tensor: tensor.to(device))")).run(PLAIN)
    assert answer["error"]["type"] == "HostSync"
    assert "a blocking copy to the device in step 0, in batches." in answer["error"]["text"]


def test_batches_that_are_not_page_locked(elsewhere: Any, tmp_path: Path) -> None:
    line = "return self._each(lambda tensor: tensor.pin_memory())"
    answer = elsewhere(copy_with(tmp_path, line, "return self")).run(PLAIN)
    assert answer["error"]["type"] == "HostSync"
    assert "copying from pageable memory in step 0, in batches." in answer["error"]["text"]


def test_a_wait_for_the_whole_device(elsewhere: Any, tmp_path: Path) -> None:
    line = "step_loss = step_loss + loss.detach()"
    answer = elsewhere(copy_with(tmp_path, line, line + "; torch.cuda.synchronize()")).run(PLAIN)
    assert "cuda.synchronize in step 0, in loop.gradients" in answer["error"]["text"]


def test_an_optimizer_that_looks_at_the_gradient(run: Any) -> None:
    answer = run(SetUp("sft", {"precision": "bfloat16", "optimizer": "foreach"}))
    assert answer["error"]["type"] == "HostSync"
    assert "optimizer.step" in answer["error"]["text"]


def test_one_kernel_more(elsewhere: Any, run: Any, tmp_path: Path) -> None:
    line = "return token_loss(hidden, trainee.head"
    answer = elsewhere(copy_with(tmp_path, line, line.replace("hidden", "hidden.clone()"))).run(PLAIN)
    more = {name: count - run(PLAIN)["steps"][-1]["by_kind"].get(name, 0)
            for name, count in answer["steps"][-1]["by_kind"].items()}  # fmt: skip
    assert {name: count for name, count in more.items() if count} == {"clone": 1}


def test_tensors_that_are_kept(elsewhere: Any, tmp_path: Path) -> None:
    line = "step_loss = step_loss + loss.detach()"
    kept = line + "; run.__dict__.setdefault('kept', []).append(loss.detach().clone())"
    steps = elsewhere(copy_with(tmp_path, line, kept)).run(PLAIN)["steps"]
    first, _, third, fourth = (step["storages"] for step in steps)  # the second's loss is not read yet
    assert (third - first, fourth - third) == (2, 1)
