"""The numbers of an allocator's refusal, and what a text tells beside it, tell what the memory usually goes to."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding

RULES = load_rules(("image", "script"))


def full(text: str) -> Finding:
    found = [one for one in diagnose(read(text), no_target(), RULES).findings if one.rule == "torch/cuda-error"]
    assert len(found) == 1
    return found[0]


def old(wanted: str, used: str, free: str, held: str, total: str = "23.69 GiB") -> str:
    return (
        f"RuntimeError: CUDA out of memory. Tried to allocate {wanted} (GPU 0; {total} total capacity; {used} already "
        f"allocated; {free} free; {held} reserved in total by PyTorch)"
    )


def new(wanted: str, free: str, own: str, used: str, idle: str, total: str = "47.54 GiB") -> str:
    return (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {wanted}. GPU 0 has a total capacity of "
        f"{total} of which {free} is free. Including non-PyTorch memory, this process has {own} memory in use. Of the "
        f"allocated memory {used} is allocated by PyTorch, and {idle} is reserved by PyTorch but unallocated."
    )


@pytest.mark.parametrize(
    "line",
    [
        old("2.00 GiB", "20.10 GiB", "1.20 GiB", "20.15 GiB"),  # the rest is this process's own context
        old("98.00 MiB", "10.31 GiB", "21.00 MiB", "10.33 GiB", "11.17 GiB"),
        new("512.00 MiB", "310.00 MiB", "47.20 GiB", "46.10 GiB", "190.00 MiB"),
    ],
)
def test_nobody_else_is_looked_for_where_the_numbers_leave_nothing(line: str) -> None:
    found = full(line)
    assert "this process holds" in found.message
    assert "other processes" not in found.remedy.text
    assert "another process" not in found.message
    assert "Fragments" not in found.remedy.text  # what torch holds without use would not be enough


def test_others_are_looked_for_where_they_hold_much() -> None:
    found = full(new("224.00 MiB", "90.00 MiB", "26.00 GiB", "25.00 GiB", "300.00 MiB"))
    assert "about 21.4 GiB are held beside it" in found.message or "about 21.5 GiB are held beside it" in found.message
    assert found.remedy.text.startswith("Look first for other processes")


def test_pieces_are_named_where_they_would_be_enough() -> None:
    found = full(new("1.00 GiB", "310.00 MiB", "47.20 GiB", "43.10 GiB", "3.60 GiB"))
    assert "Fragments: PYTORCH_ALLOC_CONF" in found.remedy.text


def test_one_large_piece_comes_from_a_length_or_a_size() -> None:
    found = full(new("24.00 GiB", "20.10 GiB", "27.00 GiB", "26.00 GiB", "200.00 MiB"))
    assert "24.00 GiB more, in one piece" in found.message
    assert "square in the length" in found.remedy.text
    assert "in one piece" not in full(old("2.00 GiB", "20.10 GiB", "1.20 GiB", "20.15 GiB")).message


LINE = old("1.00 GiB", "21.70 GiB", "100.00 MiB", "21.80 GiB")


@pytest.mark.parametrize(
    ("told", "word"),
    [
        ("I train a LoRA adapter, 2 M trainable parameters only.", "those of frozen weights too"),
        ("The encoder is frozen and only the head is trained.", "those of frozen weights too"),
        ("A forward pass works without issues; training does not.", "none of which a forward pass"),
        ("It fails in loss.backward() during training.", "none of which a forward pass"),
        ("The training fails after 3 epochs.", "a later step needs more"),
        ("It took 18 GB, and two hours later this came.", "a later step needs more"),
        ("It comes during validation.", "a later step needs more"),
        ("Inference of one video with the pipeline.", "the cache of keys and values"),
        ("ComfyUI, KSampler with the large model.", "the cache of keys and values"),
    ],
)
def test_what_the_text_tells_of_the_run_tells_what_fills_it(told: str, word: str) -> None:
    assert word in full(f"# Out of memory\n{told}\n{LINE}").message


def test_without_a_word_of_the_run_both_are_named() -> None:
    found = full(LINE)
    assert "in training gradients and the optimizer's state, too" in found.message
    assert "frozen" not in found.message
    assert "a later step" not in found.message


def test_generating_takes_no_accumulated_gradients() -> None:
    assert "gradient" not in full(f"# Inference fails\nOne picture with the pipeline.\n{LINE}").remedy.text


@pytest.mark.parametrize(
    "text",
    [
        "Fine-tuning on a 4090 ends in CUDA_OUT_OF_memory\n\n18 GB at first, three hours later cuda_out_of_memory.",
        "显存不足\n\n3090 训练的时候爆显存了",
        "GPUメモリ不足\n\nRTX 3060で止まります",
    ],
)
def test_a_full_memory_is_told_in_words(text: str) -> None:
    assert "the GPU's memory does not suffice" in full(text).message


def test_fragments_that_a_request_would_fit_are_told() -> None:
    torn = full(
        "CUDA out of memory. Tried to allocate 35.60 GiB. GPU 0 has a total capacity of 79.33 GiB of which 26.16 GiB "
        "is free. Process 7 has 53.16 GiB memory in use. Of the allocated memory 11.97 GiB is allocated by PyTorch, "
        "and 40.69 GiB is reserved by PyTorch but unallocated."
    )
    assert "lies in pieces" in torn.message
    assert "expandable_segments" in torn.remedy.text


def test_an_empty_gpu_of_intels_refuses_one_large_piece() -> None:
    words = (
        "torch.OutOfMemoryError: XPU out of memory. Tried to allocate {} GiB. GPU 0 has a total capacity of 15.11 GiB. "
        "Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated."
    )
    limited = full(words.format("8.00"))
    assert "the GPU is empty by torch's count" in limited.message
    assert "UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1" in limited.remedy.text
    assert "larger than the whole GPU" in full(words.format("18.00")).message
