"""Weights that do not fit a model: what the names and sizes that an error lists say about how the two differ.

PyTorch lists the names that the model has and the file lacks, those that only the file has, and the sizes that differ.
The lists tell what happened to one of the two: wrapped, adapted, quantised, given more tokens or other labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from envdoctor.knowledge.tensor_layouts import Reading, Size
from envdoctor.knowledge.tensor_sizes import read_sizes
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern


@frozen
class Misfit:
    """All that a report lists of one failed loading."""

    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    sizes: tuple[Size, ...] = ()


_LIST = Pattern(
    r"\b(?P<which>Missing|Unexpected) keys?(?:\(s\))? in (?:source )?state_dict:? (?P<names>.{3,2000})", re.IGNORECASE
)
_NAME = re.compile(r"[\"'{ ](?P<name>[A-Za-z_][\w-]*(?:\.[\w-]+)+)[\"',}]")
_SHAPE = r"torch\.Size\(\[(?P<{}>[\d, ]{{1,60}})\]\)"
_SIZES = (
    Pattern(
        r"size mismatch for (?P<name>\S{1,300}): copying a param with shape "
        + _SHAPE.format("stored")
        + r"(?: from checkpoint[, ]{1,4}the shape in current model is "
        + _SHAPE.format("wanted")
        + ")?"
    ),
    Pattern(  # PyTorch 0.4
        r"size mismatch for (?P<name>\S{1,300}): copying a param of "
        + _SHAPE.format("stored")
        + r"(?: from checkpoint[, ]{1,4}where the shape is "
        + _SHAPE.format("wanted")
        + ")?"
    ),
    Pattern(
        r"Trying to set a tensor of shape "
        + _SHAPE.format("stored")
        + r" in \"?(?P<name>[\w.]{1,200})\"? \(which has shape "
        + _SHAPE.format("wanted")
    ),
    Pattern(
        r"(?P<name>[\w.{},* ]{3,200}?) ?\|.{0,40}MISMATCH.{0,60}ckpt: ?"
        + _SHAPE.format("stored")
        + r" vs model: ?"
        + _SHAPE.format("wanted")
    ),
)
_WRAPPERS = ("module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_forward_module")
_BY = {
    "module": "as DataParallel and DistributedDataParallel put it there",
    "_orig_mod": "as torch.compile puts it there",
    "_fsdp_wrapped_module": "as FSDP puts it there",
    "base_model.model": "as PEFT puts it there",
    "model": "as a Lightning module or a class around the model puts it there",
}


def misfit_of(lines: Iterable[str]) -> Misfit:
    """What the lines of a report list, as far as they were pasted."""
    listed: dict[str, dict[str, None]] = {"missing": {}, "unexpected": {}}
    sizes: dict[str, Size] = {}
    for line in lines:
        for found in _LIST.finditer(line):
            names = re.split(r"(?:Missing|Unexpected) keys?\b|size mismatch for", f" {found['names']}")[0]
            listed[found["which"].lower()].update(dict.fromkeys(match["name"] for match in _NAME.finditer(names)))
        for pattern in _SIZES:
            for found in pattern.finditer(line):
                sizes.setdefault(
                    found["name"].strip(),
                    Size(
                        name=found["name"].strip(),
                        stored=_numbers(found["stored"]),
                        wanted=_numbers(found["wanted"] or ""),
                    ),
                )
    return Misfit(missing=tuple(listed["missing"]), unexpected=tuple(listed["unexpected"]), sizes=tuple(sizes.values()))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,15}", text))


def read_misfit(misfit: Misfit) -> Reading | None:
    """What the lists say, the narrower statement first; None where they leave it open."""
    return (
        _by_names(misfit.missing, misfit.unexpected)
        or _by_kind_of_block(misfit)
        or _by_marks(misfit)
        or _by_depth(misfit)
        or read_sizes(misfit.sizes)
    )


def lists_tell(lines: Iterable[str]) -> bool:
    """Do the lists of a report say for certain why the weights do not fit?"""
    reading = read_misfit(misfit_of(lines))
    return reading is not None and reading.certain


def _by_names(missing: Sequence[str], unexpected: Sequence[str]) -> Reading | None:
    """The same tensors under other names."""
    if not missing or not unexpected:
        return None
    for longer, shorter, side in ((unexpected, missing, "file"), (missing, unexpected, "model")):
        if prefix := _prefix(longer, shorter):
            by = _BY.get(prefix, "as a class around the model puts it there")
            other = "model" if side == "file" else "file"
            off = f"Take it off before loading: {{k.removeprefix('{prefix}.'): v for k, v in state.items()}}"
            on = (
                "Load before the model is wrapped, or into what it wraps; or put the prefix on: "
                f"{{'{prefix}.' + k: v for k, v in state.items()}}"
            )
            return Reading(
                meaning=f"The names in the {side} begin with {prefix}. and those in the {other} do not ({by}): the "
                "same tensors under other names",
                remedy=f"{off if side == 'file' else on}.",
            )
    if _same(map(_bare, missing), map(_bare, unexpected)):
        return Reading(
            meaning="The file and the model name the same tensors, with a wrapper's part of the name (module. and the "
            "like) at another place, as when DataParallel is put around a part or around the whole",
            remedy="Take the part out on both sides: load into the model before it is wrapped, with {k.replace("
            "'module.', '').replace('_orig_mod.', ''): v for k, v in state.items()}.",
        )
    for changes, who in _RENAMED:
        if _same((_renaming(name, changes) for name in unexpected), missing):
            return Reading(meaning=f"The file has other names for the same tensors: {who}", remedy=_RELEASE)
        if _same((_renaming(name, changes) for name in missing), unexpected):
            return Reading(
                meaning=f"The model has other names for the same tensors than the file: {who}", remedy=_RELEASE
            )
    return None


_RELEASE = "Load it with the release that wrote it and save it anew, or rename the entries of the state_dict."
_RENAMED = (
    (
        ((r"\bweight_g$", "parametrizations.weight.original0"), (r"\bweight_v$", "parametrizations.weight.original1")),
        "weight_norm of torch.nn.utils.parametrizations (from torch 2.1 on) names them otherwise than the older one",
    ),
    (((r"\bgamma$", "weight"), (r"\bbeta$", "bias")), "TensorFlow's names gamma and beta for weight and bias"),
    (
        ((r"\.lora_([AB])\.weight$", r".lora_\1.default.weight"),),
        "PEFT names the adapter in the model, and not in the file",
    ),
    (((r"\.base_layer\.", "."),), "PEFT holds the layer that it adapts as base_layer since 0.6"),
)


def _renaming(name: str, changes: Iterable[tuple[str, str]]) -> str:
    for old, new in changes:
        name = re.sub(old, new, name)
    return name


def _prefix(longer: Sequence[str], shorter: Sequence[str]) -> str:
    """What stands before the names on one side, if without it they are those of the other."""
    short = frozenset(shorter)
    for name in longer[:20]:
        parts = name.split(".")
        for cut in range(1, min(len(parts), 6)):
            prefix = ".".join(parts[:cut]) + "."
            if ".".join(parts[cut:]) in short and _same(
                (other.removeprefix(prefix) for other in longer if other.startswith(prefix)), shorter
            ):
                return prefix.rstrip(".")
    return ""


def _same(ones: Iterable[str], others: Iterable[str]) -> bool:
    """Are they the same names? Lists are pasted cut off, so most of the shorter one is enough."""
    one, other = frozenset(ones), frozenset(others)
    few = min(len(one), len(other))
    return few > 0 and len(one & other) * 5 >= few * 4


def _bare(name: str) -> str:
    return ".".join(part for part in name.split(".") if part not in _WRAPPERS)


class _Mark(NamedTuple):
    """``name`` in the list of one side alone; ``only``: every name of the one list that there is ends so."""

    name: Pattern
    side: str
    meaning: str
    remedy: str
    only: bool = False
    usually: str = ""


def _by_marks(misfit: Misfit) -> Reading | None:
    """Names that only one kind of saving makes."""
    for mark in _MARKS:
        own, other = misfit.unexpected, misfit.missing
        if mark.side == "model":
            own, other = other, own
        found = [mark.name.search(name) is not None for name in own]
        if mark.only:
            told = bool(found) and all(found) and not other and not misfit.sizes
        else:
            told = any(found) and not any(mark.name.search(name) for name in other)
        if told:
            return Reading(meaning=mark.meaning, remedy=mark.remedy, usually=mark.usually)
    return None


_THIRD = re.compile(r"^(?P<block>(?:\w+\.){0,4}?layer[1-4]\.\d{1,2})\.conv3\.weight$")
"""The convolution that ResNet's deeper variants have more in each block."""


def _by_kind_of_block(misfit: Misfit) -> Reading | None:
    """A ResNet of the other kind of blocks: two convolutions in each (18, 34), or three (50 and deeper)."""
    for own, other, side, less in (
        (misfit.unexpected, misfit.missing, "file", "model"),
        (misfit.missing, misfit.unexpected, "model", "file"),
    ):
        third = [found["block"] for name in own if (found := _THIRD.match(name))]
        alone = [block for block in third if f"{block}.conv1.weight" not in own]  # else the whole block is missing
        if not alone or any(_THIRD.match(name) for name in other):
            continue
        few = any(re.search(r"\blayer1\.2\.conv1\.weight$", name) for name in own)
        which = "a ResNet-18, which has two blocks in layer1" if few else "a ResNet-18 or 34"
        return Reading(
            meaning=f"The blocks of the {side} have a third convolution ({alone[0]}.conv3), as ResNet-50, 101 and 152 "
            f"have it (Bottleneck), and those of the {less} have two, as ResNet-18 and 34 (BasicBlock)",
            usually=f"the {less} is {which}, and the {side} one of the deeper ones",
            remedy="Make the model that the file was saved from: "
            + (
                "resnet50, 101 or 152, by the number of blocks in the file"
                if side == "file"
                else "resnet18 or resnet34"
            )
            + " (the option that names the backbone, arch, depth), or take the weights of the one that is made here. "
            "strict=False would leave most of the net at random numbers.",
        )
    return None


_BLOCK = Pattern(
    r"^(?P<stack>(?:[A-Za-z_]\w*\.){0,6}?(?:layers?|layer\d|blocks?|h|resblocks|transformer_blocks|encoders?|decoders?))"
    r"\.(?P<number>\d{1,3})\."
)


def _by_depth(misfit: Misfit) -> Reading | None:
    """One side has more blocks of a kind than the other, and all else is alike."""
    if misfit.sizes or bool(misfit.missing) == bool(misfit.unexpected):
        return None
    names = misfit.missing or misfit.unexpected
    blocks = [found for name in names if (found := _BLOCK.search(name))]
    stacks = {found["stack"] for found in blocks}
    numbers = sorted({int(found["number"]) for found in blocks})
    if len(blocks) != len(names) or len(stacks) != 1 or len(names) < 4 or numbers[0] == 0:
        return None
    if numbers != list(range(numbers[0], numbers[-1] + 1)):
        return None
    (stack,) = stacks
    more, less = ("model", "file") if misfit.missing else ("file", "model")
    return Reading(
        meaning=f"Of what is listed only blocks from {stack}.{numbers[0]} on are too many in the {more}: it has more "
        f"of them than the {less}",
        usually="the model is another size of its family, or its depth is set otherwise than when the file was saved"
        + ("; else the file is one of several parts" if misfit.missing else ""),
        remedy="Make the model with as many blocks as the file has (its configuration: num_layers, depth, "
        "num_hidden_layers), or take the file of the model that is made here; with strict=False blocks that the file "
        "lacks keep random numbers.",
    )


_HARMLESS = "Load with strict=False, or delete these entries from the state_dict: nothing is lost."
_MARKS = (
    _Mark(
        Pattern(r"\bposition_ids$"),
        "file",
        "Only position_ids are too many, a buffer that transformers stores no more since 4.31",
        _HARMLESS,
        only=True,
    ),
    _Mark(
        Pattern(r"\bposition_ids$"),
        "model",
        "Only position_ids are missing in the file, a buffer that transformers had in the state_dict from 3 to 4.30",
        "Load with strict=False: the model makes it itself, and nothing is lost.",
        only=True,
        usually="the file was saved with transformers 2, or with 4.31 and later",
    ),
    _Mark(
        Pattern(r"\b(?:inv_freq|masked_bias|attn\.bias|relative_position_index|attn_mask)$"),
        "file",
        "Of what is listed only such names are too many as models have for buffers that they compute themselves",
        _HARMLESS,
        only=True,
        usually="the file was written by another release of the code, which stored them",
    ),
    _Mark(
        Pattern(r"\b(?:total_ops|total_params)$"),
        "file",
        "Only the counters of thop are too many: the model was saved after its operations were counted",
        "Delete the entries that end in total_ops and total_params, or load with strict=False; count on a copy.",
        only=True,
    ),
    _Mark(
        Pattern(
            r"^(?:\w+\.){0,4}?(?:\w+_)?(?:lpips|perceptual(?:_loss)?|percep|vgg_?loss|id_loss|fid|inception(?:_score)?"
            r"|kid|psnr|s?ssim|metrics?|loss_fn|loss|criterion|accuracy|f1|auroc)(?:_\w+)?\."
        ),
        "file",
        "Of what is listed only entries of a metric or a loss are too many in the file (by their names), and none is "
        "missing in it",
        "Where only such names are listed, load with strict=False or delete them: "
        "state = {k: v for k, v in state.items() if k in model.state_dict()}; what the model computes with is loaded "
        "all the same. Or install the releases (torchmetrics, lpips) that the project pins.",
        only=True,
        usually="the program saved its metric or loss with the model, and here it is made otherwise: another release "
        "of the library (torchmetrics, lpips), whose buffers are no longer a part of what is saved, or a loss that is "
        "made for training alone",
    ),
    _Mark(
        Pattern(r"\bnum_batches_tracked$"),
        "model",
        "Only num_batches_tracked is missing, which PyTorch stores since 0.4.1",
        _HARMLESS,
        only=True,
    ),
    _Mark(
        Pattern(r"\blora_[AB]\b|\blora_embedding_[AB]\b|\.lora_(?:down|up)\."),
        "file",
        "The file holds LoRA adapters, and the model has none",
        "Load the base model first and the adapters onto it (PeftModel.from_pretrained(model, FOLDER), "
        "pipe.load_lora_weights for diffusers), or load a file into which they were merged.",
    ),
    _Mark(
        Pattern(r"\blora_[AB]\b|\.base_layer\.|\blora_embedding_[AB]\b|\.lora_(?:down|up)\."),
        "model",
        "The model was given LoRA adapters before loading, and the file has none, as a base model's or a merged one",
        "Load the weights before the adapters are added.",
    ),
    _Mark(
        Pattern(r"\.(?:absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.bitsandbytes__\w+)$"),
        "file",
        "The file was saved in bitsandbytes' 4 bits, and what loads it does not take what belongs to them",
        "Load it with its quantization_config (from_pretrained reads it from the file's config.json), or take the "
        "weights that were not quantised.",
        usually="the model is not quantised; else load_state_dict is called on one that is, which takes whole weights",
    ),
    _Mark(
        Pattern(r"\.(?:SCB|weight_format)$"),
        "file",
        "The file was saved in bitsandbytes' 8 bits, and what loads it does not take what belongs to them",
        "Load it with load_in_8bit (BitsAndBytesConfig), or take the weights that were not quantised.",
        usually="the model is not quantised",
    ),
    _Mark(
        Pattern(r"\.(?:qweight|qzeros|g_idx)$"),
        "file",
        "The file holds weights that are packed as by GPTQ or AWQ, and the model was made without layers for them",
        "Load it by from_pretrained of the library that reads its quantization_config (gptqmodel, autoawq or "
        "compressed-tensors installed), or take the weights that were not quantised.",
    ),
    _Mark(
        Pattern(r"\.(?:qweight|qzeros|g_idx)$"),
        "model",
        "The model was made for GPTQ or AWQ weights, and the file holds others",
        "Load the quantised file, or drop quantization_config from config.json.",
    ),
)
