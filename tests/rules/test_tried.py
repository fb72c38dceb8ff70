"""What was tried in vain is no advice; what helps is none to be struck."""

from __future__ import annotations

import pytest

from tests.rules.told import root, whole

LIBUV = "RuntimeError: use_libuv was requested but PyTorch was built without libuv support"


def test_the_next_step_takes_the_place_of_what_was_tried() -> None:
    found = root(LIBUV, "", "I work on Windows 11 and set USE_LIBUV=0, which changes nothing.")
    assert found.remedy.text.startswith("Start without it")
    assert not any("USE_LIBUV" in command for command in found.remedy.commands)


@pytest.mark.parametrize(
    "told",
    ["", "Would USE_LIBUV=0 help?", "The manual says that USE_LIBUV=0 should help.", "With USE_LIBUV=0 it works."],
)
def test_what_was_not_tried_in_vain_stays(told: str) -> None:
    found = root(LIBUV, "", told)
    assert found.remedy.text.startswith("Set USE_LIBUV=0")
    assert "By the text" not in found.remedy.text


def test_what_was_given_to_a_call_by_the_name_of_a_variable_was_not_set() -> None:
    name = "PYTORCH_MPS_HIGH_WATERMARK_RATIO"
    told = f"I tried load(documents, {name}=0.0) and it does not help."
    found = root("RuntimeError: MPS backend out of memory (MPS allocated: 2.44 GB)", "", told)
    assert found.remedy.commands == (f"export {name}=0.0",)


def test_measures_in_words_are_named() -> None:
    found = root(
        "Loss is nan, stopping training", "", "I tried a smaller learning rate and gradient clipping, no luck."
    )
    assert "a smaller learning rate and gradient clipping seems to have been tried in vain" in found.remedy.text


def test_numbers_that_are_sound_in_float32_overflow_in_fp16() -> None:
    found = root("The loss is nan after 20 steps", "", "With fp16 it is nan, with fp32 everything works.")
    assert "Usually fp16 overflows" in found.message
    assert "float32" in found.remedy.text


@pytest.mark.parametrize("told", ["fp32 gives nan, too.", "Is fp32 better?", "We use fp32."])
def test_numbers_that_are_not_compared_have_many_causes(told: str) -> None:
    assert "sound in a wider one" not in whole(root("The loss is nan after 20 steps", "", told))


SCALED = (
    "# All gradients are inf or nan with autocast",
    "scaler = torch.cuda.amp.GradScaler()",
    "scaler.scale(loss).backward()",
    "scaler.unscale_(optimizer)",
)


def test_a_scaler_that_never_steps_is_not_settled() -> None:
    assert "calibration" in root(*SCALED).message


@pytest.mark.parametrize("line", ["scaler.step(optimizer); scaler.update()", "The loss is nan as well.", "epoch 3"])
def test_a_scaler_that_steps_is(line: str) -> None:
    assert "calibration" not in root(*SCALED, line).message


def test_a_log_that_is_there_is_not_asked_for() -> None:
    found = root(
        "# Training hangs on two GPUs",
        "host1:771:790 [0] NCCL INFO Channel 00/02 : 0 1",
        "host1:771:790 [0] NCCL INFO Connected all rings",
        "stdout: host1:772:791 [1] NCCL INFO comm 0x5581 rank 1 nranks 2",
    )
    assert "export NCCL_DEBUG=INFO" not in found.remedy.commands
    assert "read its last lines" in found.remedy.text
