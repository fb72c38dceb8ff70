"""How many weights the model of a text has whose run found the memory full, and what of them is trained."""

from __future__ import annotations

import re

from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.knowledge.full_memory import TRAINED, WEIGHTS
from envdoctor.values.pattern import Pattern

_FULL = Pattern(r"out of memory|\boom\b|OutOfMemory|memory is full", re.IGNORECASE)
_COUNTED = Pattern(
    r"(?<![\w.])(?P<millions>\d{1,6}(?:\.\d{1,6})?) ?(?:million|M) (?:trainable )?param"
    r"|(?:all|total|trainable|number of) param\w{0,10}\W{1,4}(?P<exact>\d{1,3}(?:[,_]\d{3}){2,4})"
    r"|(?<![\w.])(?P<billions>\d{1,3}(?:\.\d{1,2})?) ?(?:billion|B) (?:trainable )?param",
    re.IGNORECASE,
)
_NAMED = Pattern(r"(?<![\d.])(?P<billions>(?<!x)\d{1,3}(?:\.\d{1,2})?)[bB](?![\w/]| ?RAM)")
"""In a model's name: "llama-2-7b-hf", "Qwen2.5-32B"."""
_PARTS = Pattern(
    r"\b(?:with|using|via|by|and|use_|enable)\W?(?:q?lora|dora|peft)\b|\bq?lora(?:_|-)?(?:r|rank|alpha|target)\b"
    r"|\bq?lora (?:fine-?tun|train|config|adapter)|finetuning_type\W{1,4}q?lora|LoraConfig|get_peft_model|use_peft"
    r"|\bqlora\b|\bfreez|\bfrozen\b|linear prob|prefix[- ]tun|prompt[- ]tun|\badapters?\b",
    re.IGNORECASE,
)
_WITHOUT_PARTS = Pattern(
    r"\b(?:no|not|without|w/o|instead of|rather than)\b.{0,20}\b(?:q?lora|peft)\b|\bfull[- ](?:parameter[- ])?"
    r"(?:fine-?tun|sft|training)|finetuning_type\W{1,4}full|全参|全量",
    re.IGNORECASE,
)
_LESS = Pattern(
    r"\b(?:fsdp|zero[-_ ]?[23]|zero_stage|stage[\W_]{0,4}3|deepspeed|tensor[-_ ]parallel|pipeline[-_ ]parallel|megatron"
    r"|offload|adafactor|8[-_ ]?bit|4[-_ ]?bit|int[48]|nf4|fp8|awq|gptq|gguf|bnb|galore|lomo|badam|pure[_ ]bf16)",
    re.IGNORECASE,
)
_WITHOUT_LESS = Pattern(r"\b(?:no|not|without|w/o)\b.{0,40}\b(?:quanti[sz]|fsdp|deepspeed|offload)", re.IGNORECASE)
_TRAINS = Pattern(
    r"\bfine-?tun(?:e|es|ing)\b|\bfinetuning\b|\btraining\b|\btrainers?\b|\btrain(?:\.py|\.sh| (?:a|the|my|on|with))"
    r"|\b(?:sft|dpo|grpo|ppo)\b|\bpretraining\b|\bbackward\b|微调|训练",
    re.IGNORECASE,
)


def read(page: Page, draft: Draft) -> None:
    """Keep both as remarks, where a text tells them."""
    if not any(_FULL.search(text) for text in draft.messages):
        return
    text = "\n".join(page.lines)[:_LONG]
    weights = _weights(text)
    if weights is None or (_LESS.search(text) and not _WITHOUT_LESS.search(text)):
        return
    draft.remark(WEIGHTS, f"{weights:.0f}")
    if _TRAINS.search(text) is None:
        draft.remark(TRAINED, "none")
    elif _WITHOUT_PARTS.search(text) or not _PARTS.search(text):
        draft.remark(TRAINED, "all")
    else:
        draft.remark(TRAINED, "some")


_LONG = 40_000
_FEWEST = 3e8
"""Weights: below, no GPU of today is filled by them."""
_MOST = 1.1e12


def _weights(text: str) -> float | None:
    """A program's count before a name, and of names the first."""
    counted = _COUNTED.search(text)
    if counted is not None and counted["exact"]:
        found = float(counted["exact"].replace(",", "").replace("_", ""))
    elif counted is not None and counted["millions"]:
        found = float(counted["millions"]) * 1e6
    elif counted is not None:
        found = float(counted["billions"]) * 1e9
    elif (named := _NAMED.search(text)) is not None:
        found = float(named["billions"]) * 1e9
    else:
        return None
    return found if _FEWEST <= found <= _MOST else None
