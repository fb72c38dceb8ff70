"""``nvidia-smi -L``, which collect_env takes over; mmcv and detectron2 join equal GPUs ("GPU 0,1: ...")."""

from __future__ import annotations

import re

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import INFERRED, Draft
from envdoctor.facts.pasted.page import Page

FORMAT = "nvidia-smi"


def read(page: Page, draft: Draft) -> None:
    listed = False
    for number, text in page.left():
        if text.startswith(("GPU", "MIG")) and read_gpu(draft, text):
            page.take(number)
            listed = True
            if "UUID" in text:
                draft.format(FORMAT)
    if listed and draft.gpus:
        draft.claim("gpus.count", max(draft.gpus) + 1, INFERRED)


def read_gpu(draft: Draft, text: str) -> bool:
    """ "GPU 0: NVIDIA A100-SXM4-40GB (UUID: ...)", as nvidia-smi -L prints it; mmcv's "GPU 0,1: ..."; MIG children."""
    if re.match(r"MIG \S+\s+Device", text):
        if draft.gpus:
            draft.gpu(max(draft.gpus), mig=True)
        return True
    found = re.fullmatch(r"GPU\s?(\d{1,3}(?:\s?,\s?\d{1,3}){0,63})\s*:\s*(\S.{0,200}?)(?:\s*\(UUID:?.{0,80}\)?)?", text)
    if not found or found[2].startswith(("(UUID", "{")):
        return False
    name = re.sub(r"\s{0,40}\(arch=[\d.]{1,8}\)", "", found[2])
    if words.is_unknown(name):
        return True
    capability = re.search(r"\(arch=(\d{1,2}\.\d)\)", found[2])
    for index in found[1].split(","):
        draft.gpu(int(index), name=name.strip(), capability=capability[1] if capability else None)
    return True
