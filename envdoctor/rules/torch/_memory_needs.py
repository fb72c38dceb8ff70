"""What the weights of a run need by arithmetic, held against the GPU: where that alone is more, nothing else helps."""

from __future__ import annotations

from envdoctor.knowledge.full_memory import TRAINED, WEIGHTS
from envdoctor.knowledge.gpus import identify, models
from envdoctor.rules.rule import Facts, known
from envdoctor.rules.torch._allocator import Refusal
from envdoctor.values.frozen import frozen

_TRAINED = 16
"""Bytes a weight: float32 weight and gradient with Adam's two moments; or bf16 weight and gradient, float32 master and
moments."""
_HELD = 2
"""Bytes a weight in bf16 or fp16."""


@frozen
class Need:
    """More than the GPU has: why, and what helps."""

    reason: str
    advice: str


def read(facts: Facts, asked: Refusal | None) -> Need | None:
    """What the weights need, where that is more than the GPU has (by its name, where the error does not say it); None
    where it fits, or the text does not tell."""
    count = float(facts.remarks.get(WEIGHTS, "0"))
    room = (asked.whole_gpu if asked else None) or _of_its_name(facts)
    if not count or room is None:
        return None
    several = _several(facts)
    billions = f"{count / 1e9:.3g} billion weights"
    if facts.remarks.get(TRAINED) == "all":
        needs = count * _TRAINED / 2**30
        if needs <= room:
            return None
        return Need(
            reason=f"all {billions} are trained: weights, gradients and the state of AdamW take {_TRAINED} bytes "
            f"for each, {needs:.0f} GiB before any activation, and the GPU has {room:.0f}"
            + (" (each GPU holds all of it, as long as nothing shards the model)" if several else ""),
            advice="Train fewer numbers or spread them: LoRA or QLoRA (a rank of 8 to 64 on frozen weights in bf16 or "
            f"4 bit), FSDP or DeepSpeed ZeRO-3 over at least {-(-needs // (room * 0.8)):.0f} such GPUs, an optimizer "
            "with less state (8-bit AdamW, Adafactor) and bf16 weights, or its state offloaded to the processor's "
            "memory. A smaller batch or shorter rows do not help: they shrink activations alone.",
        )
    needs = count * _HELD / 2**30
    if needs <= room:
        return None
    return Need(
        reason=f"the weights alone do not fit: {billions} take {needs:.0f} GiB in bf16 or fp16 (2 bytes each), and the "
        f"GPU has {room:.0f}",
        advice="Load them in 4 bit (bitsandbytes, or a checkpoint in GPTQ, AWQ or GGUF; about "
        f'{count * 0.56 / 2**30:.0f} GiB), spread them over several GPUs (tensor parallelism, device_map="auto"), or '
        "take a smaller model; a smaller batch or a shorter text does not help.",
    )


def _several(facts: Facts) -> bool:
    gpus = known(facts.gpus)
    return gpus is not None and len(gpus.devices) > 1


def _of_its_name(facts: Facts) -> float | None:
    """The memory of the GPU in GiB; of a name with several sizes the largest."""
    gpus = known(facts.gpus)
    if gpus is None or not gpus.devices:
        return None
    model = identify(gpus.devices[0].name)
    if model is None or model.memory is None:
        return None
    name = model.name.partition("-")[0]
    return max(row.memory for row in models().every() if row.memory and row.name.partition("-")[0] == name)
