"""A model's shape, read from its config.json, and the parameters that follow from it, part by part."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.models.families import FAMILIES, ModelFamily, Said
from envdoctor.values.frozen import frozen

LARGEST = 10**9  # of any size in a config: more is a mistake, and products of such stay exact


@frozen
class Parameters:
    """Numbers of weights. ``attention`` and ``feed_forward``: matrices of all layers; ``vectors``: norms and biases."""

    embedding: int
    attention: int
    feed_forward: int
    vectors: int
    head: int  # 0 where it is the embedding's own matrix
    active: int  # weights that one token meets: fewer than all where there are experts

    @property
    def matrices(self) -> int:
        """Those of all layers."""
        return self.attention + self.feed_forward

    @property
    def total(self) -> int:
        return self.embedding + self.matrices + self.vectors + self.head


@frozen
class Architecture:
    """Sizes of a decoder-only language model, under the field's own names."""

    family: str
    hidden: int
    layers: int
    heads: int
    key_heads: int
    head_width: int
    inner: int
    vocabulary: int
    tied: bool
    experts: int = 0
    gated: bool = True
    parameters: Parameters

    @property
    def query_width(self) -> int:
        return self.heads * self.head_width

    @property
    def key_width(self) -> int:
        return self.key_heads * self.head_width

    @property
    def head_weights(self) -> int:
        """Of the output head's matrix, whoever owns it."""
        return self.vocabulary * self.hidden

    def adapters(self, rank: int) -> int:
        """Weights of low-rank adapters on every linear layer below the head, as the trainer's ``lora_targets=auto``."""
        return self.layers * rank * sum(rows + columns for rows, columns in self.linear())

    def linear(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of each linear layer of one decoder layer, where it has no experts."""
        query, key = self.query_width, self.key_width
        if self.family == "phi3":
            return (
                (self.hidden, query + 2 * key), (query, self.hidden),
                (self.hidden, 2 * self.inner), (self.inner, self.hidden),
            )  # fmt: skip
        together = self.family in ("gpt2", "gpt_neox")
        attention = [(self.hidden, query + 2 * key)] if together else [(self.hidden, n) for n in (query, key, key)]
        up = [(self.hidden, self.inner)] * (2 if self.gated else 1)
        return (*attention, (query, self.hidden), *up, (self.inner, self.hidden))


class NotKnown(Trouble):
    """A model of which something cannot be known from what is there; exit code 3."""

    def __init__(self, problem: str, **place: Any) -> None:
        super().__init__(problem, exit_code=3, **place)


def of_config(values: Mapping[str, Any], path: Path) -> Architecture:
    """The shape that a config.json tells. Raises `NotKnown` for a family without a rule, `Trouble` for a broken one."""
    name = values.get("model_type")
    if not isinstance(name, str) or not name:
        raise Trouble("says no model_type", file=path, remedy="Give the config.json of a transformers language model.")
    inner = values.get("text_config")
    if isinstance(inner, Mapping) and isinstance(inner.get("model_type"), str) and inner["model_type"] in FAMILIES:
        raise NotKnown(
            f"a model of text and images ({name}): the bundled trainer trains language models only",
            file=path,
            remedy=f"Give the config.json of the language model alone (its text_config, {inner['model_type']}).",
        )
    family = FAMILIES.get(name)
    if family is None:
        near = difflib.get_close_matches(name, FAMILIES, n=1, cutoff=0.75)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise NotKnown(
            f"model_type {name!r} is no family whose layers are known here",
            file=path,
            where="model_type",
            remedy=f"{hint}Known: {', '.join(sorted(FAMILIES))}.",
        )
    return _ConfigReader(values, path, family).architecture(name)


class _ConfigReader:
    """Fields of one config, each checked, with the family's own names for them."""

    def __init__(self, values: Mapping[str, Any], path: Path, family: ModelFamily) -> None:
        self._values, self._path, self._family = values, path, family

    def architecture(self, name: str) -> Architecture:
        family, size = self._family, self._size
        hidden, layers, heads = size("hidden_size"), size("num_hidden_layers"), size("num_attention_heads")
        key_heads = size("num_key_value_heads", heads)
        width = size("head_dim", 256 if name.startswith("gemma") else max(1, hidden // heads))
        if family.names:
            key_heads, width = heads, hidden // heads
        if hidden % heads and (family.names or self._values.get("head_dim") is None) and not name.startswith("gemma"):
            self._refuse("hidden_size", f"{hidden} cannot be shared by {heads} heads")
        if heads % key_heads:
            self._refuse("num_key_value_heads", f"{heads} heads cannot share {key_heads} keys")
        experts = size(family.experts, 0, least=0) if family.experts else 0
        inner = size(family.expert_inner if experts else "intermediate_size", 4 * hidden if family.names else None)
        vocabulary = size("vocab_size")
        tied = self._flag("tie_word_embeddings", family.tied)
        found = Architecture(
            family=name, hidden=hidden, layers=layers, heads=heads, key_heads=key_heads, head_width=width,
            inner=inner, vocabulary=vocabulary, tied=tied, experts=experts, gated=family.gated,
            parameters=Parameters(embedding=0, attention=0, feed_forward=0, vectors=0, head=0, active=0),
        )  # fmt: skip
        return _with(found, self._counted(found))

    def _counted(self, shape: Architecture) -> Parameters:
        family, hidden, inner = self._family, shape.hidden, shape.inner
        query, key = shape.query_width, shape.key_width
        attention = hidden * (query + 2 * key) + query * hidden
        one = hidden * inner * (3 if family.gated else 2)
        shared = 0
        active = feed_forward = one
        if shape.experts:
            width = self._size(family.shared_inner, 0, least=0) if family.shared_inner else 0
            shared = 3 * hidden * width + (hidden if family.shared_gate and width else 0)
            router = hidden * shape.experts
            feed_forward = shape.experts * one + router + shared
            active = self._size("num_experts_per_tok", 1) * one + router + shared
            if self._values.get("mlp_only_layers") or self._values.get("decoder_sparse_step", 1) != 1:
                raise NotKnown(
                    "not every layer has experts, which is not counted here", file=self._path, where="mlp_only_layers"
                )
        vectors = family.norms * family.norm_weights * hidden
        if self._said(family.query_bias):
            vectors += query + 2 * key
        if self._said(family.output_bias):
            vectors += hidden
        if self._said(family.mlp_bias) and not shape.experts:
            vectors += (2 if family.gated else 1) * inner + hidden
        vectors += {"": 0, "head": 2 * shape.head_width, "whole": query + key}[family.query_norm]
        final = family.norm_weights * hidden
        embedding = shape.vocabulary * hidden
        positions = 0
        if family.learned_positions:
            positions = (self._size("max_position_embeddings") + family.position_offset) * hidden
        head = (0 if shape.tied else embedding) + (shape.vocabulary if family.head_bias else 0)
        rest = shape.layers * vectors + final
        return Parameters(
            embedding=embedding + positions,
            attention=shape.layers * attention,
            feed_forward=shape.layers * feed_forward,
            vectors=rest,
            head=head,
            active=embedding + positions + head + rest + shape.layers * (attention + active),
        )

    def _said(self, said: Said) -> bool:
        # starcoder2's use_bias is on unless its config says otherwise; the others' fields are off.
        return self._flag(said, said == "use_bias") if isinstance(said, str) else said

    def _flag(self, name: str, unsaid: bool) -> bool:
        value = self._values.get(name, unsaid)
        if not isinstance(value, bool):
            self._refuse(name, f"{value!r} is neither true nor false")
        return bool(value)

    def _size(self, name: str, unsaid: int | None = None, *, least: int = 1) -> int:
        own = (self._family.names or {}).get(name, name)
        value = self._values.get(own, self._values.get(name))
        if value is None:
            value = unsaid
        if value is None:
            self._refuse(own, "is not there")
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
            self._refuse(own, f"{value!r} is not a whole number of at least {least}")
        assert isinstance(value, int)
        return value

    def _refuse(self, name: str, why: str) -> None:
        raise Trouble(why, file=self._path, where=name, remedy="Correct that field of the model's configuration.")


def _with(shape: Architecture, parameters: Parameters) -> Architecture:
    from dataclasses import replace

    return replace(shape, parameters=parameters)
