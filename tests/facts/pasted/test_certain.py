"""What a text leaves open is left open: who called, which release is there, how many GPUs, what was tried."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import IN_VAIN, Gpus, Torch
from envdoctor.facts.pasted import read
from envdoctor.facts.pasted.columns import as_now
from envdoctor.facts.pasted.frames import raised_in
from tests.rules.host.test_slow_run import judged

FRAME = 'File "/opt/env/lib/python3.11/site-packages/{}/core.py", line 7, in go'


@pytest.mark.parametrize(
    ("line", "now"),
    [
        ("- torch: 2.1.2+cpu -> 2.2.1+cpu (a wheel)", "- torch: 2.2.1+cpu (a wheel)"),
        ("numpy 1.26.4 → 2.0.1", "numpy 2.0.1"),
        ("transformers==4.40.0 => 4.41.2", "transformers==4.41.2"),
        ("GPU 0 -> GPU 1", "GPU 0 -> GPU 1"),
        ("loss 2.31 at step 10", "loss 2.31 at step 10"),
    ],
)
def test_of_a_release_that_was_changed_the_new_one_is_there(line: str, now: str) -> None:
    assert as_now(line) == now


def test_the_new_release_is_the_one_that_runs() -> None:
    torch = read("After the update it fails.\n- torch: 2.1.2 -> 2.2.1\n- torchvision: 0.16.2 -> 0.17.1\n").torch
    assert isinstance(torch, Torch)
    assert torch.version == "2.2.1"


@pytest.mark.parametrize(
    ("lines", "module"),
    [
        ([FRAME.format("axolotl")], "axolotl"),
        ([FRAME.format("axolotl"), FRAME.format("fire")], ""),
        ([FRAME.format("axolotl"), "[...]"], ""),
        ([FRAME.format("axolotl"), "...", FRAME.format("peft")], "peft"),
    ],
)
def test_of_a_cut_traceback_nobody_knows_who_called(lines: list[str], module: str) -> None:
    found = ""
    for line in lines:
        found = raised_in(line, found)
    assert found == module


@pytest.mark.parametrize(
    ("told", "count"),
    [
        ("GPU models and configuration: NVIDIA GeForce RTX 2080 Ti", None),
        ("GPU models and configuration: GPU 0: NVIDIA GeForce RTX 2080 Ti", 1),
        ("GPU models and configuration:\nGPU 0: NVIDIA A40\nGPU 1: NVIDIA A40", 2),
    ],
)
def test_a_name_alone_does_not_say_how_many_there_are(told: str, count: int | None) -> None:
    gpus = read(f"PyTorch version: 2.0.1\n{told}\nCUDA_VISIBLE_DEVICES=3 python train.py\n").gpus
    assert isinstance(gpus, Gpus)
    assert gpus.count == count


@pytest.mark.parametrize(
    ("tried", "in_vain"),
    [
        ("With bf16 I run out of memory, so I use fp16.", False),
        ("With bf16 the pictures are black as well.", True),
    ],
)
def test_what_did_not_fit_was_not_tried_in_vain(tried: str, in_vain: bool) -> None:
    remarks = read(f"# Only black pictures\n{tried}\nRuntimeWarning: invalid value encountered in cast\n").remarks
    assert ("bf16" in remarks.get(IN_VAIN, "")) is in_vain


def test_two_cudnn_in_one_process_are_no_missing_one() -> None:
    line = "Could not load library libcudnn_cnn_train.so.8. Error: /usr/local/cuda/lib/libcudnn_cnn_train.so.8: "
    found = judged(f"{line}undefined symbol: _ZN5cudnn3cnn34layerNormE, version libcudnn_cnn_infer.so.8\n")
    assert "not found" not in found.findings[0].title
    assert "LD_LIBRARY_PATH" in found.findings[0].message


def test_a_class_of_several_libraries_is_nobodys_for_sure() -> None:
    found = judged("ERROR in setfit/training_args.py\n'TrainingArguments' object has no attribute 'eval_strategy'\n")
    assert found.findings[0].subject == "setfit"
    assert all(one.severity.word == "warning" for one in found.findings if one.subject == "transformers")
