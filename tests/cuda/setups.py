"""What is tried: tasks, precisions, attentions and the rest, as far as a combination means something."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.cuda.chips import CHIPS


@dataclass(frozen=True)
class SetUp:
    """One run. `values`: the trainer's settings; `loss_chunk`: bytes of logits computed at once, 0 for the trainer's.

    world: processes, of which this is number `rank`.
    """

    task: str
    values: dict[str, Any] = field(default_factory=dict)
    shape: str = "slice"
    chip: str = "H100"
    loss_chunk: int = 0
    world: int = 1
    rank: int = 0
    tolerant: bool = False  # waits are noted, not refused

    @property
    def name(self) -> str:
        """Unique, and short enough to read in a table."""
        words = [self.task, self.shape] + ([self.chip] if self.chip != "H100" else [])
        words += [f"{key}={value}" for key, value in sorted(self.values.items())]
        words += [f"loss_chunk={self.loss_chunk >> 20}M"] if self.loss_chunk else []
        words += [f"rank={self.rank}/{self.world}"] if self.world > 1 else []
        return " ".join(words)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def _llama(
    hidden: int, layers: int, heads: int, kv_heads: int, inner: int, vocabulary: int, tied: bool = True
) -> dict[str, Any]:
    return {
        "model_type": "llama", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "intermediate_size": inner, "vocab_size": vocabulary,
        "max_position_embeddings": 16384, "tie_word_embeddings": tied, "pad_token_id": 0, "eos_token_id": 1,
        "bos_token_id": None, "rms_norm_eps": 1e-5,
    }  # fmt: skip


SHAPES = {
    "mite": _llama(32, 1, 2, 1, 64, 2048),
    "slice": _llama(576, 2, 9, 3, 1536, 2048),  # two layers of the next
    "wide": _llama(2048, 2, 32, 8, 8192, 2048),  # two layers of 1b
    "135m": _llama(576, 30, 9, 3, 1536, 49152),  # SmolLM-135M
    "1b": _llama(2048, 16, 32, 8, 8192, 128256),  # Llama-3.2-1B
    "8b": _llama(4096, 32, 32, 8, 14336, 128256, tied=False),  # Llama-3.1-8B
}


PRECISIONS = ("bfloat16", "float16", "float32")
# A word for the table -> the trainer's task and settings. rft is its training half: its answers are given.
TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "sft": ("sft", {}),
    "lora": ("sft", {"lora_rank": 8}),
    "rft": ("rft", {"tokens_per_row": 256}),
    "pretrain": ("pretrain", {"examples_per_batch": 2}),
    "gritlm": ("gritlm", {}),
    "gradcache": ("gritlm", {"gradcache_chunk": 256}),
}
ATTENTIONS: dict[str, dict[str, Any]] = {
    "varlen": {"attention": "varlen"},
    "documents": {"attention": "documents"},
    "padded": {"attention": "model", "packing": False, "examples_per_batch": 4},
}


# Recomputation and micro-batches a step. The two pairs that are left out are the sums of others: the step of a row
# more, and what a row recomputes (`test_steps.test_recomputation_and_accumulation_add_up`).
WAYS = (("none", 1), ("none", 3), ("alternate", 3), ("full", 1))
SHORT = WAYS[1::2]  # beside bfloat16: another number format changes kernels, not what is launched again


def matrix() -> list[SetUp]:
    """Every task in every precision and attention that it can have, with recomputation and accumulation."""
    found = []
    for (task, values), precision, (attention, how) in itertools.product(
        TASKS.values(), PRECISIONS, ATTENTIONS.items()
    ):
        if attention == "varlen" and precision == "float32":
            continue  # its kernels know no float32
        whole = {"separate_documents": False} if task == "pretrain" and attention == "padded" else {}
        for recompute, accumulate in WAYS if precision == "bfloat16" else SHORT:
            more = {"precision": precision, "recompute": recompute, "accumulate": accumulate}
            found.append(SetUp(task, {**values, **how, **whole, **more}))
    return found


def others() -> list[SetUp]:
    """What has no place in the matrix: adapters under the other tasks, the loss in pieces, each chip's own choices."""
    plain: dict[str, Any] = {"precision": "bfloat16", "attention": "varlen"}
    return [
        SetUp("gritlm", {**plain, "lora_rank": 8}),
        SetUp("pretrain", {**plain, "lora_rank": 8}),
        SetUp("pretrain", {**plain, "separate_documents": False}),
        SetUp("rft", {**plain, "tokens_per_row": 256, "lora_rank": 0}),
        SetUp("sft", {**plain, "lora_rank": 8, "lora_dropout": 0.1, "recompute": "full"}),
        SetUp("sft", {**plain, "head": "all"}),
        SetUp("sft", plain, loss_chunk=1 << 20),
        SetUp("sft", {**plain, "precision": "float16"}, loss_chunk=1 << 20),
        SetUp("sft", {**plain, "lora_rank": 8}, loss_chunk=1 << 20),
        SetUp("sft", {**plain, "clip_norm": 0.0, "weight_decay": 0.1}),
        *(SetUp("sft", {**plain, **more, "recompute": "selective"}) for more in ({}, {"lora_rank": 8})),
        SetUp("sft", {"precision": "bfloat16", **ATTENTIONS["documents"], "recompute": "1+1"}),
        SetUp("gritlm", {**plain, "recompute": "selective", "gradcache_chunk": 256}),
        *(SetUp("sft", {}, chip=chip) for chip in CHIPS),
        SetUp("sft", {**plain, "neftune_noise_alpha": 5.0}),
        SetUp("sft", {**plain, "lora_rank": 8, "dora": True}),
        SetUp("sft", {**plain, "lora_rank": 8, "lora_fused": False}),
        SetUp("sft", {**plain, "kernels": "off"}),
        SetUp("sft", {**plain, "residual": "float32"}),
        SetUp("sft", {"precision": "bfloat16", "attention": "flash-attn"}),
        SetUp("sft", {"precision": "float16", "attention": "flex"}, chip="T4"),
        SetUp("sft", {"precision": "float32", "attention": "flex"}),
        SetUp("sft", {"compile": "on"}, chip="T4"),
        *(SetUp("sft", {**plain, "compile": "on", **more}) for more in ({}, {"lora_rank": 8}, {"graphs": "on"})),
    ]


def several() -> list[SetUp]:
    """One of eight processes, the first and another."""
    plain: dict[str, Any] = {"precision": "bfloat16", "attention": "varlen"}
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("sft", {}), ("sft", {"accumulate": 2}), ("sft", {"lora_rank": 8}), ("sft", {"recompute": "full"}),
        ("sft", {"recompute": "selective"}),
        ("sft", {"precision": "float16"}), ("pretrain", {"examples_per_batch": 2}), ("gritlm", {}),
        ("sft", {"precision": "float32", **ATTENTIONS["documents"]}), ("sft", ATTENTIONS["documents"]),
        ("sft", ATTENTIONS["padded"]), ("sft", {"exchange": "float32"}), ("rft", {"tokens_per_row": 256}),
    ]  # fmt: skip
    first = [
        SetUp(task, {**plain, **values, "parallel": parallel}, world=8)
        for task, values in kinds for parallel in ("ddp", "fsdp2")
    ]  # fmt: skip
    return [
        *first, *(SetUp("sft", {**plain, "parallel": parallel}, world=8, rank=3) for parallel in ("ddp", "fsdp2")),
        SetUp("sft", {**plain, "parallel": "ddp", "overlap": False}, world=8),
        *(SetUp("sft", {**plain, "parallel": one, "exchange": "float32"}, world=8) for one in ("ddp", "fsdp2")),
    ]  # fmt: skip


def sizes() -> list[SetUp]:
    """Real models at real lengths, for memory and floating-point operations."""
    plain: dict[str, Any] = {"precision": "bfloat16"}
    long, rows = {**plain, "tokens_per_row": 16384}, {**plain, "tokens_per_row": 8192}
    pairs = {**rows, "pairs_per_batch": 32}
    return [
        SetUp("sft", {**plain, "tokens_per_row": 2048}, "135m"),
        SetUp("sft", long, "135m"),
        SetUp("sft", {**plain, "tokens_per_row": 2048, "accumulate": 4}, "135m"),
        SetUp("sft", {**long, "precision": "float16"}, "135m"),
        SetUp("sft", {"tokens_per_row": 4096, "precision": "float32", "attention": "documents"}, "135m"),
        SetUp("sft", {**plain, "packing": False, "attention": "model", "examples_per_batch": 32}, "135m"),
        SetUp("sft", {**rows, "lora_rank": 16}, "135m"),
        SetUp("pretrain", {**rows, "examples_per_batch": 2}, "135m"),
        SetUp("gritlm", pairs, "135m"),
        *(SetUp("sft", {**long, "recompute": rung}, "1b") for rung in ("none", "alternate", "full", "1", "5", "15")),
        *(SetUp("sft", {**long, "recompute": rung}, "1b") for rung in ("selective", "0+5", "6+10")),
        SetUp("sft", {**rows, "recompute": "20", "lora_rank": 16}, "8b"),
        SetUp("sft", {**rows, "recompute": "0+20", "lora_rank": 16}, "8b"),
        SetUp("sft", {**rows, "recompute": "15", "accumulate": 2}, "135m"),
        *(SetUp("pretrain", {**rows, "examples_per_batch": 2, "recompute": r}, "1b") for r in ("none", "full")),
        *(SetUp("sft", {**rows, "parallel": parallel}, "1b", world=8) for parallel in ("ddp", "fsdp2")),
        SetUp("sft", {**rows, "lora_rank": 16}, "8b"),
        SetUp("sft", {**rows, "lora_rank": 16, "recompute": "full"}, "8b"),
    ]


def peaks() -> list[SetUp]:
    """Real models whose memory alone is looked at: one of eight processes, however they share it; what is padded,
    embedded or sampled; adapters.
    """
    found = []
    for parallel, precision, accumulate, recompute in itertools.product(
        ("ddp", "fsdp2"), PRECISIONS, (1, 2), ("none", "full")
    ):
        values = {"parallel": parallel, "precision": precision, "accumulate": accumulate, "recompute": recompute}
        found.append(SetUp("sft", {**values, "tokens_per_row": 8192, "max_steps": 2}, "1b", world=8))
    plain: dict[str, Any] = {"precision": "bfloat16", "max_steps": 2}
    short = {**plain, "tokens_per_row": 8192}
    pairs = {**short, "pairs_per_batch": 32}
    return [
        *found,
        SetUp("sft", {**plain, "tokens_per_row": 4096, "attention": "documents"}, "135m"),
        SetUp("sft", {**plain, **ATTENTIONS["padded"], "examples_per_batch": 32, "recompute": "full"}, "135m"),
        SetUp("rft", {**plain, "tokens_per_row": 2048}, "135m"),
        *(SetUp("gritlm", {**pairs, "parallel": parallel}, "135m", world=8) for parallel in ("ddp", "fsdp2")),
        SetUp("gritlm", {**pairs, "gradcache_chunk": 4096}, "135m"),
        SetUp("gritlm", {**pairs, "gradcache_chunk": 4096, "parallel": "ddp"}, "135m", world=8),
        *(SetUp("sft", {**short, "parallel": way, "exchange": "float32"}, "1b", world=8) for way in ("ddp", "fsdp2")),
        *(SetUp("sft", {**short, "parallel": way, "lora_rank": 16}, "8b", world=8) for way in ("ddp", "fsdp2")),
        SetUp("sft", {**short, "parallel": "fsdp2", "lora_rank": 16, "recompute": "full"}, "8b", world=8),
    ]
