"""The five write-ups that this project began with, as workloads: what each claims, and which settings its steps are.

A step is measured as two runs of this trainer that differ in nothing but that step. Claims are the write-ups' own
expectations on their GPUs. What has no counterpart here (another transformers version, a CUDA option) is in `not_here`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Values = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One change: settings `on` with it and `off` without it, both on top of the seed's own."""

    name: str
    claim: str
    on: Values
    off: Values


@dataclass(frozen=True)
class Seed:
    """One write-up. `both`: settings of all runs; `before`: those of the run as it was (its preset, and these).

    lines: how much of the bundled data it has; 0: all.
    """

    number: str
    title: str
    claim: str
    task: str
    steps: tuple[Step, ...]
    both: Values = field(default_factory=dict)
    preset: str = "before"
    before: Values = field(default_factory=dict)
    lines: int = 0
    not_here: str = ""


PADDED: Values = {"packing": False, "attention": "model", "head": "all"}


def _padded(**more: Any) -> Values:
    return {**PADDED, **more}


PACKING = Step("rows packed, not padded", "-", {}, {"packing": False, "attention": "model"})
TOKENS = Step("tokenised once, not in the loop", "-", _padded(), _padded(pretokenize=False))
HEAD = Step("logits where trained only", "-", {}, {"head": "all"})
BF16 = Step("bfloat16", "1.5-2x", {"precision": "bfloat16"}, {"precision": "float32"})
AHEAD = Step("batches prepared ahead", "1.05-1.1x", {"prefetch": 2}, {"prefetch": 0})
NO_RECOMPUTE = Step("no activation checkpointing", "(they switch it on)", {}, {"recompute": True})
LATE = Step("losses read late", "1.05-1.15x", {}, {"sync_every_step": True})
FUSED = Step("fused AdamW", "-", {}, {"optimizer": "foreach"})
COMPILE = Step("torch.compile", "1.5-2x", {"compile": True}, {})

RFT = Seed(
    "000", "rejection fine-tuning, LoRA (training)", "1.7-2.2x", "sft",
    (
        PACKING, HEAD, NO_RECOMPUTE, BF16, AHEAD,
        Step("checkpoints do not block", "1.05-1.1x", {"checkpoint_every": 8},
             {"checkpoint_every": 8, "checkpoint_blocking": True}),
        Step("no gradient clipping", "(they switch it on)", {"clip_norm": 0.0}, {}),
        COMPILE,
    ),
    both={"lora_rank": 16}, preset="before-rft", before={"checkpoint_every": 8, "checkpoint_blocking": True},
)  # fmt: skip
GRIT = Seed(
    "001", "GritLM, two losses", "1.25-1.5x", "gritlm",
    (
        PACKING, Step(TOKENS.name, "1.2-1.4x (data)", TOKENS.on, TOKENS.off), HEAD, NO_RECOMPUTE,
        Step(BF16.name, "-", BF16.on, BF16.off), Step(AHEAD.name, "1.2-1.4x (data)", AHEAD.on, AHEAD.off),
        Step("nothing logged in the loop", "1.15-1.25x", LATE.on, LATE.off),
        Step("generative rows first", "-", {"generative_first": True}, {"generative_first": False}),
        COMPILE,
    ),
)  # fmt: skip
CHAIN = Seed(
    "002", "full fine-tuning on chains of thought", "2.4-4x, 5.9-9.4x", "sft",
    (
        PACKING, HEAD, FUSED, NO_RECOMPUTE,
        Step("TF32", "8x of matrix products", {"flags": {"float32-matmul-precision": "high"}},
             {"flags": {"float32-matmul-precision": "highest"}}),
        Step("batches of 2 x 4 steps, not 4 x 8", "faster steps", _padded(examples_per_batch=2, accumulate=4),
             _padded(examples_per_batch=4, accumulate=8)),
        Step("rows of 1,536, not 2,048", "1.25x", {"tokens_per_row": 1536}, {"tokens_per_row": 2048}),
        Step(AHEAD.name, "GPU always has data", AHEAD.on, AHEAD.off),
        COMPILE,
    ),
    not_here="newer transformers, accelerate and datasets (claimed 2-3x): compare two environments with "
             "`python -m tests.benchmarks.before_after --python OTHER`",
)  # fmt: skip
PRETRAIN = Seed(
    "003", "pretraining with uploads", "2-4x and more", "pretrain",
    (
        Step("batches of 4 rows, not 1", "2-4x GPU use", {"examples_per_batch": 4}, {"examples_per_batch": 1}),
        Step(BF16.name, "2x", BF16.on, BF16.off), Step(AHEAD.name, "1.2-1.5x loading", AHEAD.on, AHEAD.off), LATE,
        Step("checkpoints in the background", "90 % less blocking", {"checkpoint_every": 8},
             {"checkpoint_every": 8, "checkpoint_blocking": True}),
        Step("cudnn.benchmark", "sustained gains", {"flags": {"cudnn-benchmark": True}},
             {"flags": {"cudnn-benchmark": False}}),
        FUSED, COMPILE,
    ),
    both={"tokens_per_row": 512}, before={"checkpoint_every": 50},
)  # fmt: skip
SMALL = Seed(
    "004", "25 examples, batch of 1, tokenised in the loop", "4-5x, 8-11x with all", "sft",
    (
        PACKING, Step(TOKENS.name, "with workers 4-5x", TOKENS.on, TOKENS.off), HEAD,
        Step("batches of 8, not 1", "better use", _padded(examples_per_batch=8), _padded(examples_per_batch=1)),
        Step(AHEAD.name, "with workers 4-5x", AHEAD.on, AHEAD.off), Step(BF16.name, "2x", BF16.on, BF16.off), COMPILE,
    ),
    before={"examples_per_batch": 1}, lines=25,
)  # fmt: skip
SEEDS: list[Seed] = [RFT, GRIT, CHAIN, PRETRAIN, SMALL]
