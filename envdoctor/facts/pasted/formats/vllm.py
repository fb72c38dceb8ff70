"""What vLLM's collect_env adds: build flags, and the headings of its boxes (the rest is collect_env's)."""

from __future__ import annotations

import re

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import STATED, Draft
from envdoctor.facts.pasted.page import Page, normal, pair
from envdoctor.values.pattern import Pattern

FORMAT = "vllm"
_BOX = Pattern(r"={8,}|-{8,}")
_TITLES = frozenset(("system info", "pytorch info", "python environment", "cuda / gpu info", "cpu info", "vllm info",
                     "versions of relevant libraries", "environment variables"))  # fmt: skip


def read(page: Page, draft: Draft) -> None:
    for number, text in page.left():
        if _BOX.fullmatch(text) or text.lower() in _TITLES:
            page.take(number)
        elif re.match(r"CUDA Archs: .*; ROCm: ", text):
            page.take(number)
            draft.format(FORMAT)
        elif (found := pair(text)) and (key := normal(found[0])) in (
            "vllm version",
            "vllm build flags",
            "gpu topology",
        ):
            version = words.version(found[1]) if key == "vllm version" and not words.is_unknown(found[1]) else None
            if version:
                draft.package("vllm", version, STATED)
            page.take(number)
            draft.format(FORMAT)
