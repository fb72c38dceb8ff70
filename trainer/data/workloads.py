"""The bundled workloads: fixed model, data and shapes, small enough to time in under a minute."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.errors import TrainerError

DATA = Path(__file__).parent / "bundled"


@dataclass(frozen=True)
class Workload:
    """A Llama-like model from `config` with random weights, on the bundled chat data."""

    name: str
    title: str
    config: dict[str, Any]
    settings: dict[str, Any]

    @property
    def data(self) -> Path:
        return DATA / "chat.jsonl"

    @property
    def tokenizer(self) -> Path:
        return DATA / "tokenizer"


def _llama(hidden: int, layers: int, heads: int, kv_heads: int, inner: int, vocabulary: int) -> dict[str, Any]:
    return {
        "model_type": "llama", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "intermediate_size": inner, "vocab_size": vocabulary,
        "max_position_embeddings": 8192, "tie_word_embeddings": True,
        "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None, "rms_norm_eps": 1e-5,
    }  # fmt: skip


WORKLOADS: dict[str, Workload] = {
    work.name: work
    for work in (
        Workload("chat-5m", "5M parameters, for CPUs", _llama(256, 6, 4, 2, 704, 2048), {"tokens_per_row": 2048}),
        Workload(
            "chat-30m",
            "30M parameters, for many cores and small GPUs",
            _llama(512, 9, 8, 4, 1408, 2048),
            {"tokens_per_row": 4096},
        ),
        Workload(
            "chat-135m",
            "135M parameters in the shape of SmolLM-135M, for GPUs",
            _llama(576, 30, 9, 3, 1536, 49152),
            {"tokens_per_row": 16384, "learning_rate": 5e-4},
        ),
        Workload(
            "chat-1b",
            "1.2B parameters in the shape of Llama-3.2-1B, for large GPUs",
            _llama(2048, 16, 32, 8, 8192, 128256),
            {"tokens_per_row": 8192, "learning_rate": 2e-4},
        ),
    )
}


def find(name: str) -> Workload:
    """The workload of that name; TrainerError lists the names there are."""
    if name not in WORKLOADS:
        raise TrainerError(
            "unknown-workload", f"unknown workload {name!r}", f"The workloads are {', '.join(WORKLOADS)}."
        )
    return WORKLOADS[name]
