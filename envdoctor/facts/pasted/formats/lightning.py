"""Lightning's environment report (requirements/collect_env_details.py): nested bullets under four headings."""

from __future__ import annotations

import re

from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.formats.collect_env import cuda_available, kernel, python_version, system, torch_cuda
from envdoctor.facts.pasted.formats.machine import cpu_model, gpu_name
from envdoctor.facts.pasted.page import Page, pair

FORMAT = "lightning-env"
_HEADINGS = ("CUDA:", "Lightning:", "Packages:", "System:")
_SYSTEM = {"OS": system, "python": python_version, "release": kernel, "processor": cpu_model}


def read(page: Page, draft: Draft) -> None:
    """Only below "CUDA:" with "GPU:" in the next lines: the headings alone are everyday words."""
    lines = list(page.left())
    texts = [text for _, text in lines]
    start = next((i for i, text in enumerate(texts) if text == "CUDA:" and "GPU:" in texts[i + 1 : i + 3]), None)
    if start is None:
        return
    heading = ""
    cards: list[str] = []
    for number, text in lines[start:]:
        found = pair(text)
        if text in _HEADINGS:
            heading = text
        elif heading == "CUDA:" and text == "GPU:":
            pass
        elif heading == "CUDA:" and found is None and re.search("[A-Za-z]{3}", text):
            cards.append(text)
        elif heading == "CUDA:" and found and found[0] in ("available", "version", "GPU"):
            {"available": cuda_available, "version": torch_cuda, "GPU": gpu_name}[found[0]](draft, found[1])
        elif heading == "System:" and found and found[0] in _SYSTEM:
            _SYSTEM[found[0]](draft, found[1])
        elif heading in ("Lightning:", "Packages:") and found and re.fullmatch(r"\d[\w.+-]*", found[1]):
            draft.package(found[0], found[1])
        elif heading != "System:":
            continue
        page.take(number)
        draft.format(FORMAT)
    for index, card in enumerate(cards):
        draft.gpu(index, name=card)
    if cards:
        draft.claim("gpus.count", len(cards))
