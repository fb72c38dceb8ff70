"""Where the weights alone are more than the GPU holds, the arithmetic is told, and nothing that cannot help."""

from __future__ import annotations

import pytest

from tests.rules.told import root, whole

FULL = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB. GPU 0 has a total capacity of {} of "
    "which 60.00 MiB is free."
)
SMALL, LARGE = FULL.format("23.65 GiB"), FULL.format("79.15 GiB")


@pytest.mark.parametrize(
    ("lines", "reckoned"),
    [
        (("Full fine-tuning of a 7B model with Trainer", LARGE), "104 GiB before any activation, and the GPU has 79"),
        (("trainable params: 3,000,000,000 while training", SMALL), "45 GiB before any activation"),
        (("I load Some-32B-Instruct to chat with it", SMALL), "take 60 GiB in bf16 or fp16"),
        (("LoRA fine-tuning of Some-70B", "get_peft_model", LARGE), "take 130 GiB in bf16 or fp16"),
        (("CUDA OOM while finetuning a 13b", "gpu NVIDIA A100-SXM4-80GB", "RuntimeError: CUDA out of memory."), "194"),
    ],
)
def test_told(lines: tuple[str, ...], reckoned: str) -> None:
    found = root(*lines)
    assert reckoned in found.message
    assert "does not help" in found.remedy.text or "do not help" in found.remedy.text


@pytest.mark.parametrize(
    "lines",
    [
        ("Finetuning on one card, without LoRA", "the model has 1500 Million params", SMALL),  # 22 GiB: activations
        ("AutoModel.from_pretrained('Some-7B'), trained by others, answers me", SMALL),
        ("Fine-tuning a 7B with LoRA: get_peft_model", SMALL),
        ("Fine-tuning a 7B with DeepSpeed ZeRO-3", LARGE),
        ("Loading a 32B in 4-bit to chat", SMALL),
        ("Training a detector, 7 images", SMALL),
        ("8B RAM modules are here, and I train a net", SMALL),
        ("I train on 16 GB of rows", SMALL),
    ],
)
def test_not_told(lines: tuple[str, ...]) -> None:
    assert "billion weights" not in root(*lines).message


def test_without_any_gpu_nothing_is_reckoned() -> None:
    assert "billion weights" not in whole(root("Full fine-tuning of a 7B model", "RuntimeError: CUDA out of memory."))
