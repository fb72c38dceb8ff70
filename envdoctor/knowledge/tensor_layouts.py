"""Tensors that differ as a whole between a file of weights and a model: in their layout, their width, or in one layer.

What a tensor is called says what it is; these readings need the sizes alone, and hold for models of any name.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern


@frozen
class Size:
    """One tensor whose shape differs: its name, the shape in the file and that in the model."""

    name: str
    stored: tuple[int, ...]
    wanted: tuple[int, ...]


@frozen
class Reading:
    """What the lists say: a sentence, what helps, whether other meanings are left, and what usually lies behind it."""

    meaning: str
    remedy: str
    certain: bool = True
    usually: str = ""


def read_layouts(sizes: Sequence[Size]) -> Reading | None:
    """What the sizes alone tell; every one of ``sizes`` has both shapes."""
    return _ones(sizes) or _groups(sizes) or _one_layer(sizes) or _inner_width(sizes) or _width(sizes)


def _ones(sizes: Sequence[Size]) -> Reading | None:
    """The same numbers, with a dimension of 1 more on one side."""
    alike = [size for size in sizes if _bare(size.stored) == _bare(size.wanted)]
    if not alike:
        return None
    one = max(alike, key=lambda size: math.prod(size.stored))
    longer = max(one.stored, one.wanted, key=len)
    kernel = len(one.stored) != len(one.wanted) and len(longer) > 2 and set(longer[2:]) == {1}
    why = (
        "the one has a linear layer where the other has a convolution with a kernel of 1"
        if kernel
        else "the layer is written in two ways (an extension that is compiled and its plain version, another release "
        "of the code, a squeeze or unsqueeze more)"
    )
    return Reading(
        meaning=f"{one.name} has the same sides in the file and in the model but for one of 1: {_as_list(one.stored)} "
        f"there and {_as_list(one.wanted)} here",
        usually=why,
        remedy="Build the layer as it was saved (see whether the code chooses it by what is installed: a compiled "
        "extension, a release; or by an option of the model). Where both do the same, give the entries the model's "
        "shape before loading: state[k] = state[k].reshape(model.state_dict()[k].shape).",
    )


def _bare(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(side for side in shape if side != 1)


def _as_list(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


_FIRST = Pattern(
    r"^(?:\w+\.){0,3}?(?:conv1|conv_?in|conv_first|features\.0|stem(?:\.\w+)?|patch_embed(?:s\.\d)?(?:\.proj)?"
    r"|patch_embeddings(?:\.projection)?|input_blocks\.0|first_conv|conv_stem|inc)(?:\.\d+)*(?:\.\w+)?$"
)


def _groups(sizes: Sequence[Size]) -> Reading | None:
    """Kernels that see a part of the channels on one side, and all of them on the other."""
    found = [(size, groups) for size in sizes if (groups := _groups_of(size)) and not _FIRST.search(size.name)]
    if not found or len(found) * 2 < len(sizes):
        return None
    (one, groups), *_ = found
    side, other = ("file", "model") if one.stored[1] < one.wanted[1] else ("model", "file")
    return Reading(
        meaning=f"The kernels of {one.name} see {min(one.stored[1], one.wanted[1])} channels in the {side} and "
        f"{max(one.stored[1], one.wanted[1])} in the {other}, and are of one size else",
        usually=f"it is a convolution in {groups} groups in the {side} (a ResNeXt, depthwise layers) and a plain one "
        f"in the {other}, that is, another architecture than the file was saved from, or another setting of its groups",
        remedy=f"Make the model with the groups of the file (groups={groups if side == 'file' else 1}; for a ResNet "
        "that is a ResNeXt, by its cardinality and width), or take the weights of the architecture that is made here. "
        "strict=False does not help: it leaves names out, and no sizes.",
    )


def _groups_of(size: Size) -> int | None:
    """How many groups make the one kernel of the other, where that may be."""
    stored, wanted = size.stored, size.wanted
    if len(stored) != len(wanted) or len(stored) < 3 or stored[0] != wanted[0] or stored[2:] != wanted[2:]:
        return None
    few, many = sorted((stored[1], wanted[1]))
    groups = many // few if few and many % few == 0 else 0
    return groups if groups >= 4 and stored[0] % groups == 0 else None


_INNER = Pattern(r"(?:layers?|blocks?|\bh|resblocks|stages?)\.\d|mlp|attn|attention")
"""The list may have been pasted cut off: one layer of many is no last one."""
_WHAT = (
    (r"spk|speaker|emb_g\b|singer", "speakers"),
    (r"symbol|phone|text_emb|enc_p\.emb|txt_emb|char", "symbols or characters"),
    (r"emb", "entries of the embedding (words, symbols, speakers, users)"),
)


def _one_layer(sizes: Sequence[Size]) -> Reading | None:
    """One layer has another number of outputs: its weight and its bias, and nothing else that is listed."""
    layers = {size.name.rpartition(".")[0] for size in sizes}
    counts = {(size.stored[0], size.wanted[0]) for size in sizes if size.stored and size.wanted}
    same = all(len(size.stored) == len(size.wanted) and size.stored[1:] == size.wanted[1:] for size in sizes)
    if len(layers) != 1 or len(counts) != 1 or not same or not all(size.stored for size in sizes):
        return None
    ((stored, wanted),) = counts
    (layer,) = layers
    if not layer or stored == wanted or _INNER.search(layer):
        return None
    name = layer.lower()
    what = next((what for pattern, what in _WHAT if re.search(pattern, name)), "classes, labels or outputs")
    return Reading(
        meaning=f"Of what is listed only {layer} differs, and in its first side: {stored} in the file, "
        f"{wanted} in the model",
        usually=f"this is the number of {what}",
        remedy=f"Make the model with the file's number ({stored}), as its configuration has it; to train for another, "
        f"load all but {layer} (delete its entries; strict=False leaves out names alone, not sizes).",
    )


_EMBEDDING = Pattern(r"(?<!class_)(?<!pos_)(?<!spk_)(?<!speaker_)emb(?:ed(?:ding)?s?|eddings)?\b", re.IGNORECASE)


_INNER_PART = Pattern(
    r"(?:^|[._])(?:mlp|ffn|ff|feed_?forward|intermediate|dense_h_to_4h|experts?|fc[12]|linear[12]|w[123]"
    r"|(?:gate|up|down)_proj)(?:[._]|$)"
)


def _inner_width(sizes: Sequence[Size]) -> Reading | None:
    """Two-layer parts whose inner width differs alone: what goes in and comes out is as wide in both."""
    if not all(_INNER_PART.search(size.name) and len(size.stored) == len(size.wanted) for size in sizes):
        return None
    pairs = {
        (one, other) for size in sizes for one, other in zip(size.stored, size.wanted, strict=True) if one != other
    }
    same = Counter(
        one for size in sizes for one, other in zip(size.stored, size.wanted, strict=True) if one == other and one > 15
    )
    if len(sizes) < 2 or len(pairs) != 1 or not same:
        return None
    ((stored, wanted),) = pairs
    outer, _ = same.most_common(1)[0]
    there, here = stored / outer, wanted / outer
    if not all(0.2 < ratio < 17 for ratio in (there, here)):
        return None
    return Reading(
        meaning="Of what is listed only matrices of feed-forward layers differ, and in one side: "
        f"{stored} in the file, {wanted} in the model; the other ({outer}) is as wide in both",
        usually=(
            "the file's layers are gated (GLU, SwiGLU), whose first matrix is twice as high, which code of its own "
            "on the Hub makes, or "
            if stored == 2 * wanted
            else ""
        )
        + "their ratio to that width is set otherwise (mlp_ratio, ffn_dim, intermediate_size): about "
        f"{there:.3g} in the file, {here:.3g} here, by another variant or by code of another time than the file",
        remedy=f"Make the model with the file's width ({stored}, that is {there:.3g} x {outer}): the variant's "
        "own configuration, or the newest sources of the project (git pull), whose code fits the file it offers; of a "
        "model on the Hub that brings code of its own: trust_remote_code=True. "
        "strict=False does not help: it leaves names out, and no sizes.",
    )


def _width(sizes: Sequence[Size]) -> Reading | None:
    """Many tensors, and in nearly all the same number stands for another."""
    pairs: Counter[tuple[int, int]] = Counter()
    shapes = [(size.stored, size.wanted) for size in sizes if not re.search(r"norm|\bbn|\bln", size.name)]
    for size in sizes:
        if len(size.stored) == len(size.wanted):
            sides = zip(size.stored, size.wanted, strict=True)
            pairs.update({(one, other) for one, other in sides if one != other})
    (stored, wanted), often = pairs.most_common(1)[0] if pairs else ((0, 0), 0)
    if often < 3 or often * 5 < len(sizes) * 4 or min(stored, wanted) < 16:
        return None
    ends = all(one[1:] == other[1:] and len(one) == len(other) for one, other in shapes)
    if ends and often == len(sizes) and any(_EMBEDDING.search(size.name) for size in sizes):
        return Reading(
            meaning=f"An embedding and what else is listed have {stored} entries in the file and {wanted} in the model",
            usually="this is the number of words, characters or symbols: the vocabulary was built anew from other data "
            "than the file was trained with",
            remedy=f"Use the vocabulary of the file ({stored} entries: the words or tokens file that was saved beside "
            "it) to go on with it; to train on other data, load all but the tensors that are listed (delete their "
            "entries, then strict=False), which then begin at random numbers.",
        )
    return Reading(
        meaning=f"The file has {stored} where the model has {wanted}, in {often} of the {len(sizes)} tensors that are "
        "listed with both sizes",
        usually="this is the number of classes, labels, characters or words, which the model's configuration and its "
        "data give, or the width of a part"
        if ends
        else "it is of another size of the same family (its width), the width is set otherwise than when it was "
        "saved, or the number is that of classes, labels or characters, which several layers have",
        remedy=f"Make the model with the file's number ({stored}): as many classes, labels, characters or words, or "
        "the same width; to train for others, load without the tensors that are listed."
        if ends
        else "Take the configuration that belongs to the file (its size: small, base, large; its hidden size, "
        "channels or embedding dimension), or the file of the model that is made here.",
    )
