"""What a person tried, and how it went: in sentences, lists and comparisons, with negations and in other tenses."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import HELPS, IN_VAIN
from envdoctor.facts.pasted import read

ERROR = "\n\nRuntimeError: something went wrong in the run"


def outcomes(text: str, key: str) -> list[str]:
    found = read(text + ERROR).remarks.get(key, "")
    return [part.partition(" with ")[2] for part in found.split("; ") if part]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("After many trials it turned out that it runs fine with NCCL_P2P_DISABLE=1.", "NCCL_P2P_DISABLE=1"),
        ("Setting NCCL_P2P_DISABLE to 1 fixed the hang.", "NCCL_P2P_DISABLE=1"),
        ("It only works when I export NCCL_P2P_DISABLE=1 before the start.", "NCCL_P2P_DISABLE=1"),
        ("With NCCL_IB_DISABLE=1 all ranks start, and the training works.", "NCCL_IB_DISABLE=1"),
        ("It hangs for ever without NCCL_P2P_DISABLE=1.", "NCCL_P2P_DISABLE=1"),
        ("The loss is nan with fp16, but with fp32 everything is fine.", "float32"),
        ("Training in 16-mixed gives NaN, in 32-true it works.", "float32"),
        ("If I disable autocast the NaN disappears.", "float32"),
        ("num_workers=0 solved it, with 4 it is stuck.", "num_workers=0"),
        ("On the CPU the result is correct.", "the processor"),
        ("设置 NCCL_P2P_DISABLE=1 之后可以训练了", "NCCL_P2P_DISABLE=1"),
    ],
)
def test_what_helps(text: str, name: str) -> None:
    assert name in outcomes(text, HELPS)
    assert name not in outcomes(text, IN_VAIN)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I wrote fp16 where bf16 stood, it made no difference.", "bf16"),
        ("Using gloo instead of nccl and fp16 in place of bf16 does not work.", "bf16"),
        ("Going from bf16 to fp32, still nan.", "bf16"),
        ("Changed bf16 -> fp32 and it is still nan.", "bf16"),
        ("bf16 was replaced by fp32, still nan.", "bf16"),
    ],
)
def test_what_gave_way_was_not_tried(text: str, name: str) -> None:
    assert name not in outcomes(text, IN_VAIN)
    assert name not in outcomes(text, HELPS)


def test_what_was_put_to_use_was_tried() -> None:
    assert "bf16" in outcomes("bf16 was no help.", IN_VAIN)
    assert "gradient clipping" in outcomes("Gradient clipping was added, it still is nan.", IN_VAIN)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I set NCCL_P2P_DISABLE=1 but it still hangs.", "NCCL_P2P_DISABLE=1"),
        ("I have exported NCCL_P2P_DISABLE=1. It did not help.", "NCCL_P2P_DISABLE=1"),
        ("Even with `USE_LIBUV=0` the same error comes.", "USE_LIBUV=0"),
        ('I tried to set the variable "USE_LIBUV" to "0", which has no effect.', "USE_LIBUV=0"),
        ("NCCL_IB_DISABLE=1 doesn't work either.", "NCCL_IB_DISABLE=1"),
        ("Reinstalling everything changed nothing, the same error.", "another installation"),
        ("Things I've tried:\n- gradient clipping\n- num_workers=0\n\nAny ideas?", "gradient clipping"),
        ("I used a smaller learning rate. I used gradient clipping. Nothing helped.", "a smaller learning rate"),
        ("It hangs with one gpu, too.", "one GPU"),
        ("Switching from nccl to gloo makes no difference.", "gloo"),
        ("fp32 is not working either, still nan.", "float32"),
        ("我试过 NCCL_P2P_DISABLE=1 还是不行", "NCCL_P2P_DISABLE=1"),
    ],
)
def test_what_was_tried_in_vain(text: str, name: str) -> None:
    assert name in outcomes(text, IN_VAIN)
    assert name not in outcomes(text, HELPS)


@pytest.mark.parametrize(
    "text",
    [
        "Would it work with NCCL_P2P_DISABLE=1?",
        "The documentation recommends NCCL_P2P_DISABLE=1 where it hangs.",
        "Should I set num_workers=0 to fix it?",
        "As far as I know NCCL_P2P_DISABLE=1 works by shared memory.",
        "We train with fp16 on one GPU.",
        "python fit.py --lr 0.001 --gpu 1\nhere the loss is nan",
        "A learning rate of 0.01 is what the paper has. The loss is nan.",
        "DDP: only 1 gpu works of four.",
        "I want to run it on the CPU.",
    ],
)
def test_a_question_a_plan_or_a_setting_has_no_outcome(text: str) -> None:
    assert outcomes(text, HELPS) == outcomes(text, IN_VAIN) == []


def test_what_a_text_tells_both_ways_is_not_used() -> None:
    text = "With num_workers=0 it works. Later with num_workers=0 it still hangs."
    assert outcomes(text, HELPS) == outcomes(text, IN_VAIN) == []
