"""``python -m xformers.info``: what its binaries were built for, and which operators load."""

from __future__ import annotations

import re

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import STATED, Draft
from envdoctor.facts.pasted.formats.collect_env import torch_cuda, torch_version
from envdoctor.facts.pasted.formats.machine import gpu_name
from envdoctor.facts.pasted.page import Page, pair
from envdoctor.values.pattern import Pattern

FORMAT = "xformers-info"
_BUILT = Pattern(r"build\.(\w+(?:\.\w+)*)")
_OPERATOR = Pattern(r"(?:memory_efficient_attention|indexing|swiglu|sequence_parallel_fused|sp24|is_triton|smallk)\b.*")


def read(page: Page, draft: Draft) -> None:
    for number, text in page.left():
        if heading := re.fullmatch(r"xFormers (\d\S*)", text):
            version = words.version(heading[1])
            if version:
                draft.package("xformers", version, STATED)
                draft.extension("xformers", version=version)
        else:
            found = pair(text)
            if found is None:
                continue
            key, value = found
            unknown = words.is_unknown(value)
            if key == "pytorch.version":
                torch_version(draft, value)
            elif key == "pytorch.cuda":
                if value in ("available", "not available"):
                    draft.claim("torch.cuda_available", value == "available")
                else:
                    torch_cuda(draft, value)
            elif key == "gpu.compute_capability" and not unknown:
                draft.claim("torch.capabilities", (value,))
            elif key == "gpu.name" and not unknown:
                gpu_name(draft, value)
            elif built := _BUILT.fullmatch(key):
                if not unknown:
                    _build(draft, built[1], value)
            elif _OPERATOR.match(key) and value in ("available", "unavailable"):
                pass
            else:
                continue
        page.take(number)
        draft.format(FORMAT)


def _build(draft: Draft, what: str, value: str) -> None:
    if what == "torch_version":
        draft.extension("xformers", torch=words.version(value))
    elif what == "cuda_version":
        draft.extension("xformers", cuda=_dotted_version(value))
    elif what == "python_version":
        draft.extension("xformers", python=value)
    elif what == "env.TORCH_CUDA_ARCH_LIST":
        draft.extension("xformers", architectures=tuple(value.replace(";", " ").split()))


def _dotted_version(value: str) -> str:
    """xformers writes CUDA as 1201 (it is 12.1), newer releases as "12.1"."""
    return f"{int(value) // 100}.{int(value) % 100}" if re.fullmatch(r"\d{3,4}", value) else value
