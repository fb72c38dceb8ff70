"""What names tell (of a buffer, a frame, a setting), and what people tell of a slow run without a number."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import Diagnosis, diagnose

RULES = load_rules(("image", "script"))
HEAD = "RuntimeError: Error(s) in loading state_dict for Net:\n"
SIZE = "\tsize mismatch for {}: copying a param with shape torch.Size([{}]) from checkpoint, "
SIZE += "the shape in current model is torch.Size([{}]).\n"
FULL = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate {} (GPU 0; {} total capacity; "
FULL += "1.00 GiB already allocated; {} free; {} reserved in total by PyTorch)"


def judged(text: str) -> Diagnosis:
    return diagnose(read(text), no_target(), RULES)


def told(text: str, severity: str = "error") -> str:
    return " ".join(
        f"{one.subject}: {one.message} {one.remedy.text}"
        for one in judged(text).findings
        if one.severity.word == severity
    )


def slow(text: str) -> list[str]:
    return [one.subject for one in judged(text).findings if one.rule == "host/slow-run"]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("# Distributed training slow\nWith DDP one GPU lags behind the other GPUs.", "one GPU behind the others"),
        (
            "# Uneven load, 4 GPUs can not be fully used\nOne card drops to 20% after an hour.",
            "one GPU behind the others",
        ),
        ("# Very slow training\nThe same script on another server is fine.", "fast on another machine"),
        ("# Training 5 times slower here\nIt runs fast on a different machine.", "fast on another machine"),
        ("# Steps become insanely slow\nAll of the 12 GB VRAM is taken.", "a GPU that is full"),
        ("# It slows down to 900 s/it\nTask Manager shows 6 GB of shared GPU memory.", "a GPU that is full"),
        ("# LoRA at 1400 s/it\nVRAM is at 100 % from the fourth step on.", "a GPU that is full"),
    ],
)
def test_a_slow_run_that_is_told_without_a_number(text: str, subject: str) -> None:
    assert subject in slow(text)
    assert not told(text)


def test_a_full_gpu_without_a_complaint_is_not_slow() -> None:
    assert not slow(
        "# CUDA error on an RTX 3090\nAll of the VRAM is used by the model, is that right?\ntorch 2.4.0+cu121"
    )


@pytest.mark.parametrize(
    "name", ["depth.backproject.pix_coords", "layers.0.blocks.1.attn_mask", "warp.grid", "head.rays"]
)
def test_a_table_of_the_image_size_is_known_by_its_name(name: str) -> None:
    text = told(HEAD + SIZE.format(name, "1, 3, 49152", "1, 3, 307200"))
    assert "one size of picture" in text
    assert "192 x 256 has in the file, and 480 x 640 here" in text
    assert "vocabulary" not in text


def test_weights_are_no_table() -> None:
    assert "one size of picture" not in told(HEAD + SIZE.format("mid.conv.weight", "1, 3, 49152", "1, 3, 307200"))


@pytest.mark.parametrize("name", ["lpips.net.lin0.model.weight", "val_metrics.fid.mean", "loss.perceptual_loss.scale"])
def test_a_metric_that_was_saved_with_the_model(name: str) -> None:
    text = told(f'{HEAD}\tUnexpected key(s) in state_dict: "{name}", "{name}2". ')
    assert "metric or a loss" in text
    assert "strict=False" in text


def test_a_metric_beside_other_names_is_left_open() -> None:
    text = told(f'{HEAD}\tUnexpected key(s) in state_dict: "lpips.net.lin0.weight", "decoder.up.weight". ')
    assert "only entries of a metric" not in text


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("KeyError: 'unexpected key \"fusion.conv.weight\" in state_dict'", "fusion.conv.weight is on one side alone"),
        ("KeyError: \"missing keys in state_dict: {'fc.bias'}\"", "fc.bias is on one side alone"),
        (r"""KeyError: 'missing keys in state_dict: "{\'fc.bias\', \'fc.weight\'}"'""", "fc.bias is on one side alone"),
        ("KeyError: 'unexpected key \"module.fc.weight\" in state_dict'", "begins with module."),
        (
            "RuntimeError: While copying the parameter named fc.weight, whose dimensions in the model are "
            "torch.Size([7, 64]) and whose dimensions in the checkpoint are torch.Size([9, 64]).",
            "torch.Size([9, 64]) in the file",
        ),
    ],
)
def test_the_old_forms_of_a_checkpoint_that_does_not_fit(text: str, word: str) -> None:
    assert word in told(text)


def test_another_key_error_is_no_checkpoint() -> None:
    assert "the checkpoint" not in told("KeyError: 'state_dict_of_run'")


FRAMES = """Traceback (most recent call last):
  File "/opt/v/lib/python3.11/site-packages/tiktoken/load.py", line 160, in load_tiktoken_bpe
    token, rank = line.split()
ValueError: not enough values to unpack (expected 2, got 1)
"""


def test_the_reader_of_a_library_decides_before_the_words() -> None:
    assert "sentencepiece" in told(FRAMES)
    assert "what is unpacked" not in told(FRAMES)
    assert "sentencepiece" in told("ValueError: Error parsing line b'\\x0e' in /models/one/tokenizer.model")
    assert "sentencepiece" not in told(FRAMES.replace("site-packages/tiktoken", "work/project"))


@pytest.mark.parametrize(
    "text",
    [
        "AttributeError: module 'keras.utils.generic_utils' has no attribute 'to_snake_case'",
        "AttributeError: module 'keras.src.engine.base_layer' has no attribute 'BaseRandomLayer'",
        "ImportError: cannot import name 'tf_utils' from 'keras.src.utils' "
        "(/opt/v/lib/python3.10/site-packages/keras/src/utils/__init__.py)",
    ],
)
def test_the_inside_of_another_keras(text: str) -> None:
    assert "install one release of tensorflow alone" in told(text)


def test_the_outside_of_keras_is_another_matter() -> None:
    assert "a part of its inside" not in told("AttributeError: module 'keras.backend' has no attribute 'get_session'")


def test_steps_that_are_taken_already_are_left_out() -> None:
    settings = "GTX 1080, training with batch size = 1\ngradient_checkpointing: true\nmixed_precision: fp16\n"
    full = FULL.format("20.00 MiB", "8.00 GiB", "0 bytes", "7.20 GiB")
    text = told(settings + full)
    for word in ("smaller batches", "gradient checkpointing", "bf16"):
        assert word not in text
    assert "LoRA" in text
    assert "smaller batches" in told(full)
    assert "weights in fp16" in told("I train it on a GTX 1080.\n" + full)


def test_a_request_beyond_the_gpu_is_no_growth() -> None:
    grown = "It stops with out of memory after 4000 iterations.\n"
    large = grown + FULL.format("35.00 GiB", "23.50 GiB", "21.00 GiB", "1.20 GiB")
    assert "memory that grows" not in told(large, "warning")
    small = grown + FULL.format("1.20 GiB", "23.50 GiB", "0.10 GiB", "22.00 GiB")
    assert "memory that grows" in told(small, "warning")


def test_what_is_beside_an_older_torchs_count_is_hedged() -> None:
    text = told(FULL.format("112.00 MiB", "40.00 GiB", "100.00 MiB", "4.00 GiB"))
    assert "or, which is rare" in text
    newer = (
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB. GPU 0 has a total capacity of 40.00 GiB "
    )
    newer += "of which 100.00 MiB is free. Including non-PyTorch memory, this process has 4.00 GiB memory in use."
    assert "other processes hold about" in told(newer)
    assert "or, which is rare" not in told(newer)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("ModuleNotFoundError: No module named 'triton.ops'", "The module triton is asked for and is not installed"),
        (
            "UserWarning: The installed version of bitsandbytes was compiled without GPU support. 8-bit optimizers are "
            "unavailable.",
            "cannot load its library",
        ),
        ("WeightsUnpickler error: Unsupported operand 118", "The files of the repository are only pointers"),
    ],
)
def test_no_more_is_said_than_is_proved(text: str, word: str) -> None:
    assert judged(text).findings
    assert word not in told(text)
