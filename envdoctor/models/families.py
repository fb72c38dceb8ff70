"""Families of language models, by the ``model_type`` of their config.json: which tensors a layer of them has.

The names of config fields and tensors are those of transformers' modelling files (5.23). A family that is not here is
counted from the headers of its safetensors files.
"""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.values.frozen import frozen

Said = bool | str
"""A fact of the family, or the name of the config field that says it."""


@frozen
class ModelFamily:
    """What its layers are made of.

    ``norms``: of the residual stream, per layer; ``norm_weights``: vectors of one (RMSNorm 1, LayerNorm with bias 2);
    ``query_norm``: queries and keys are normalised each "head" alike, or over the "whole" width, or not ("");
    ``tied``: what holds where the config says nothing of tied embeddings; ``names``: config fields under other names;
    ``learned_positions``: a table of them is trained; ``head_bias``: the output head has one.
    """

    gated: bool = True
    query_bias: Said = False
    output_bias: Said = False
    mlp_bias: Said = False
    norms: int = 2
    norm_weights: int = 1
    query_norm: str = ""
    tied: bool = False
    learned_positions: bool = False
    position_offset: int = 0  # rows that the table has more than positions
    head_bias: bool = False
    experts: str = ""  # the config field that counts the experts of a layer; "": it has one feed-forward network
    expert_inner: str = "intermediate_size"
    shared_inner: str = ""  # the config field of the shared expert's width
    shared_gate: bool = False
    names: Mapping[str, str] | None = None


_GPT2_NAMES = {
    "hidden_size": "n_embd",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "intermediate_size": "n_inner",
    "max_position_embeddings": "n_positions",
}
_BIASED = ModelFamily(gated=False, query_bias=True, output_bias=True, mlp_bias=True, norm_weights=2)

FAMILIES: Mapping[str, ModelFamily] = {
    "llama": ModelFamily(query_bias="attention_bias", output_bias="attention_bias", mlp_bias="mlp_bias"),
    "mistral": ModelFamily(),
    "ministral": ModelFamily(),
    "smollm3": ModelFamily(query_bias="attention_bias", output_bias="attention_bias", mlp_bias="mlp_bias", tied=True),
    "granite": ModelFamily(query_bias="attention_bias", output_bias="attention_bias", mlp_bias="mlp_bias"),
    "qwen2": ModelFamily(query_bias=True),
    "qwen3": ModelFamily(query_bias="attention_bias", output_bias="attention_bias", query_norm="head"),
    "phi3": ModelFamily(),
    "gemma": ModelFamily(query_bias="attention_bias", output_bias="attention_bias", tied=True),
    "gemma2": ModelFamily(query_bias="attention_bias", output_bias="attention_bias", norms=4, tied=True),
    "gemma3_text": ModelFamily(
        query_bias="attention_bias", output_bias="attention_bias", norms=4, query_norm="head", tied=True
    ),
    "olmo2": ModelFamily(query_bias="attention_bias", output_bias="attention_bias", query_norm="whole"),
    "starcoder2": ModelFamily(
        gated=False, query_bias="use_bias", output_bias="use_bias", mlp_bias="use_bias", norm_weights=2, tied=True
    ),
    "gpt_neox": _BIASED,
    "gpt2": ModelFamily(
        gated=False, query_bias=True, output_bias=True, mlp_bias=True, norm_weights=2, tied=True,
        learned_positions=True, names=_GPT2_NAMES,
    ),
    "opt": ModelFamily(
        gated=False, query_bias=True, output_bias=True, mlp_bias=True, norm_weights=2, tied=True,
        learned_positions=True, position_offset=2, names={"intermediate_size": "ffn_dim"},
    ),
    "phi": ModelFamily(
        gated=False, query_bias=True, output_bias=True, mlp_bias=True, norms=1, norm_weights=2, head_bias=True
    ),
    "mixtral": ModelFamily(experts="num_local_experts"),
    "olmoe": ModelFamily(experts="num_experts", query_norm="whole"),
    "qwen2_moe": ModelFamily(
        query_bias=True, experts="num_experts", expert_inner="moe_intermediate_size",
        shared_inner="shared_expert_intermediate_size", shared_gate=True,
    ),
    "qwen3_moe": ModelFamily(query_norm="head", experts="num_experts", expert_inner="moe_intermediate_size"),
}  # fmt: skip
