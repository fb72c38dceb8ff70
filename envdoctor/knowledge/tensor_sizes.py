"""Tensors whose size in a file of weights is not that in the model: tokens, labels, rank, places, or another model."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from envdoctor.knowledge.tensor_layouts import Reading, Size, read_layouts
from envdoctor.values.pattern import Pattern

_PARTITIONED = Reading(
    meaning="The model's own tensors are empty where the weights are loaded (torch.Size([0])), and those of the file "
    "are whole",
    usually="DeepSpeed's ZeRO-3 (zero.Init, or a Trainer's configuration with stage 3) leaves each process a piece of "
    "every weight and an empty tensor in its place, and this part is loaded by load_state_dict itself, which does not "
    "gather them; FSDP does so too",
    remedy="Load this part before ZeRO-3 takes the model over, or within deepspeed.zero.GatheredParameters(list of its "
    "parameters, modifier_rank=0); from_pretrained gathers by itself. With ZeRO-2 weights stay whole.",
)


def read_sizes(sizes: Sequence[Size]) -> Reading | None:
    """Which side of which tensors differs: tokens, labels, rank, places, or the model itself."""
    if not sizes:
        return None
    if all(not size.wanted for size in sizes):  # the line was pasted cut off
        return _TOKENS_LIKELY if any(_TOKENS.search(size.name) for size in sizes) else None
    sizes = [size for size in sizes if size.wanted]
    if all(size.wanted == (0,) and size.stored != (0,) for size in sizes):
        return _PARTITIONED
    flat = (size for size in sizes if len(size.stored) == 2 and 1 in size.stored and 1 not in size.wanted)
    packed = next(filter(_halves, flat), None)
    if packed is not None:
        return Reading(
            meaning=f"{packed.name} is stored packed in 4 bits and loaded into a layer that is not quantised",
            remedy="Load it with its quantization_config (load_in_4bit), or take the weights that were not quantised.",
        )
    kinds = [_kind(size) for size in sizes]
    for kind in ("base", "rank", "quantised", "tokens", "places", "channels", "labels", "grid"):
        if kind not in kinds:
            continue
        size = sizes[kinds.index(kind)]
        beside = {"places": ("labels", "tokens", "grid"), "grid": ()}.get(kind, ("labels", "tokens"))
        if kind in ("base", "rank", "quantised") or all(each in (kind, *beside) for each in kinds):
            return _reading_by_size(kind, size)
    return read_layouts(sizes)


def _halves(size: Size) -> bool:
    return math.prod(size.wanted) == 2 * math.prod(size.stored)


_TOKENS = Pattern(
    r"(?:embed_tokens|tok_embeddings|word_embeddings|\bwte|lm_head|embed_out|\bshared|embed_in"
    r"|token_embedding)(?:\.base_layer|\.modules_to_save\.\w+"
    r"|\.original_module|\.lora_embedding_\w+)?(?:\.\w+)?\.?(?:weight|bias)?$"
)
_TOKENS_LIKELY = Reading(
    meaning="The file and the model have another number of tokens: most often tokens were added before one was saved",
    remedy="Take the tokenizer that was saved with the file, and before loading it call "
    "model.resize_token_embeddings with the file's number.",
    certain=False,
)
_PLACES = Pattern(
    r"pos(?:ition(?:al)?)?_?emb(?:ed(?:ding)?s?)?\b|embed_positions|\bwpe\b|relative_position_bias_table"
    r"|positional_embedding|position_embeddings"
)
_GRID = Pattern(
    r"\b(?:\w+_)?(?:pix_?coords?|coords?|coordinates|(?:mesh|pixel|sampling|base|image|feat)?_?grids?|meshgrid|id_coords"
    r"|xyz?s|rays?(?:_dirs?)?|directions|anchors?|anchor_points|homogeneous|frustums?|attn_mask|relative_coords_table"
    r"|relative_position_index|rel_pos_[hw]|freqs_cis|rope(?:_\w+)?|window|hann_window|warp_grid)"
    r"(?:_(?:\w{1,8}|\d{1,2}))?$"
)
"""Buffers that the code fills itself for one size of picture (or clip, or window): pixels, rays, anchors, masks."""
_LABELS = Pattern(
    r"(?:^|\.)(?:classifier|score|fc|head|heads|cls_head|fc_cls|fc_reg|cls_score|bbox_pred|class_embed|cls_logits"
    r"|mask_fcn_logits|conv_seg|conv_cls|logits?|last_linear|cv3|atss_cls|retina_cls|m\.\d|fc_out|out_proj"
    r"|mask_logits|predictor)(?:\.\w+){0,3}$"
)
_INNER = Pattern(r"(?:layers?|blocks?|\bh|resblocks|stages?)\.\d|mlp|attn|attention|encoder")
_PACKED = Pattern(r"\b(?:qweight|qzeros|scales|g_idx)$")
_LORA = Pattern(r"\blora_(?P<side>[AB])\b")


def _kind(size: Size) -> str:
    """What a tensor of that name is, and which of its sides differs."""
    stored, wanted = size.stored, size.wanted
    if len(stored) != len(wanted) or sorted(stored) == sorted(wanted):  # turned over: of another code
        return "other"
    differs = [one != other for one, other in zip(stored, wanted, strict=True)]
    adapter = _LORA.search(size.name)
    if adapter is not None and len(stored) == 2:
        rank = 0 if adapter["side"] == "A" else 1
        return "base" if differs[1 - rank] else "rank"
    first_only = differs[0] and not any(differs[1:])
    if _PLACES.search(size.name):
        return "places"
    if first_only and _TOKENS.search(size.name):
        return "tokens"
    if _PACKED.search(size.name):
        return "quantised"
    if _GRID.search(size.name):
        return "grid"
    if first_only and _LABELS.search(size.name) and not _INNER.search(size.name):
        return "labels"
    if (
        len(stored) == 4
        and differs == [False, True, False, False]
        and re.search(r"conv_in|input_blocks\.0\.0", size.name)
    ):
        return "channels"
    return "other"


def _shape(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _pictures(stored: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    """Which pictures have that many pixels, where a usual form of them does."""
    one, other = (_picture(math.prod(side for side in shape if side > 4)) for shape in (stored, wanted))
    return f" (as many pixels as {one} has in the file, and {other} here)" if one and other else ""


def _picture(pixels: int) -> str:
    for high, wide in ((3, 4), (1, 1), (9, 16), (2, 3), (1, 2), (5, 8)):
        part = math.isqrt(pixels // (high * wide))
        if part > 5 and part * part * high * wide == pixels:
            return f"{part * high} x {part * wide}"
    return ""


_VOCABULARY = 20_000


def _is_of_tokens(size: Size) -> bool:
    """Is it a few of many tokens that differ, and not the width of another model?"""
    one, other = size.stored[0], size.wanted[0]
    return min(one, other) > _VOCABULARY and abs(one - other) * 20 < one


def _reading_by_size(kind: str, size: Size) -> Reading:
    stored, wanted = size.stored, size.wanted
    if kind == "base" and _is_of_tokens(size):
        kind = "tokens"
    if kind == "rank":
        side = 0 if "lora_A" in size.name else 1
        return Reading(
            meaning=f"The adapters in the file have rank {stored[side]}, those of the model {wanted[side]}",
            remedy=f"Make them with r={stored[side]}: PeftModel.from_pretrained reads it from adapter_config.json.",
        )
    if kind == "base":
        side = 1 if "lora_A" in size.name else 0
        return Reading(
            meaning="The adapters are for layers of another width than those that they are loaded onto "
            f"({size.name} is {stored[side]} wide in the file, {wanted[side]} in the model)",
            usually="they were trained on another base model, or on another size of it",
            remedy="Load the base model that adapter_config.json names (base_model_name_or_path), then the adapters.",
        )
    if kind == "quantised":
        return Reading(
            meaning=f"{size.name} is packed otherwise than the model expects: most often other bits or another group "
            "size than quantization_config says, or bits that differ from layer to layer",
            remedy="Make the model with the bits and group_size that the file was quantised with (quantize_config.json "
            "or config.json beside it), by the program that wrote it.",
            certain=False,
        )
    if kind == "tokens":
        return Reading(
            meaning=f"The file has {stored[0]} tokens and the model {wanted[0]} ({size.name})",
            usually="tokens were added (or padded) before one of the two was made, their tokenizers differ, or the "
            "libraries (transformers) are of another release than when it was saved and add others",
            remedy="Take the tokenizer that was saved with the file, the releases that its page names, and before "
            f"loading it call model.resize_token_embeddings({stored[0]}).",
        )
    if kind == "places":
        return Reading(
            meaning=f"{size.name}, which is for places, has {_shape(stored)} in the file and {_shape(wanted)} in the "
            "model",
            usually="another image size, patch or length of sequence is set than when the file was saved, or one of "
            "the two has places more (for a class, distillation or register token)",
            remedy="Make the model with the size that the file was trained with, or interpolate the positions.",
        )
    if kind == "grid":
        return Reading(
            meaning=f"{size.name} has {_shape(stored)} in the file and {_shape(wanted)} in the model",
            usually="it is no learnt weight but a grid or table (coordinates of pixels, rays, positions, a mask) that "
            f"the code makes for one size of picture{_pictures(stored, wanted)}, and the model is built for another "
            "size than when the file was saved",
            remedy="Build the model with the height and width (or length) that the file was trained with, as its "
            "configuration has them. Where the other size is meant and the code makes the table anew, leave the entry "
            f"out: state = {{k: v for k, v in state.items() if not k.endswith('{size.name.rpartition('.')[2]}')}}, "
            "then load_state_dict(state, strict=False), and see that it reports nothing else as missing. strict=False "
            "alone passes over no sizes.",
        )
    if kind == "channels":
        return Reading(
            meaning=f"The file's first layer takes {stored[1]} channels, the model's {wanted[1]} ({size.name})",
            usually="one of the two is an inpainting, editing, depth or video variant of the other",
            remedy="Load it into the variant that it was saved from (9 channels: inpainting, 8: editing, 5: depth).",
        )
    return Reading(
        meaning=f"{size.name} has {stored[0]} outputs in the file and {wanted[0]} in the model",
        usually="it is the last layer, and this the number of classes or labels that the file was trained for and that "
        "the model is given (a detector's last layers have several numbers for each class)",
        remedy=f"Set the number of classes to that of the file ({stored[0]}); to train for others, load all but this "
        "layer (ignore_mismatched_sizes=True in transformers; else delete its entries and load with strict=False).",
    )
