"""Numbers and names that error lines carry: versions, capabilities, what torch was built for."""

from __future__ import annotations

import re

from envdoctor.facts.pasted.draft import INFERRED, LISTED, STATED, Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.facts.pasted.words import cuda_of, is_card
from envdoctor.values.pattern import Pattern


def read(page: Page, draft: Draft) -> None:
    """Claim what the messages that are kept carry; must run after them."""
    for message in tuple(draft.messages):
        _numbers(message, draft)
    _built_for(page, draft)


def _built_for(page: Page, draft: Draft) -> None:
    """torch 2.9 and later list what they were built for, one capability a line (torch/cuda/__init__.py)."""
    pattern = Pattern(r"(?:built for CC )?(\d{1,2})\.(\d),? (?:which supports hardware CC|runs on:).*")
    found = [match for _, text in page.left() if (match := pattern.fullmatch(text))]
    draft.claim("torch.arch_list", tuple(dict.fromkeys(f"sm_{match[1]}{match[2]}" for match in found)) or None)


def _numbers(message: str, draft: Draft) -> None:
    """Numbers that some errors carry."""
    if found := re.search(r"incompatible torch version (\d[\w.+]{2,40}) for torchao version (\d[\w.+]{2,40})", message):
        draft.claim("torch.version", found[1], STATED)
        draft.package("torchao", found[2], STATED)
    if found := re.search(r"driver on your system is too old \(found version (\d{4,5})\)", message):
        draft.claim("driver.cuda", cuda_of(found[1]), LISTED)
        draft.claim("torch.cuda_available", False, LISTED)
    if re.search(
        r"CUDA initialization: (?!Error)\w|torch\.cuda\.is_available\(\) is False", message
    ):  # the warning of is_available() before it says False
        draft.claim("torch.cuda_available", False, INFERRED)
    if re.search(r"Found no NVIDIA driver on your system", message):
        draft.claim("torch.cuda_available", False, LISTED)
        draft.claim("driver.kernel_module", "", LISTED)
    if re.search(
        r"cudaGetDeviceCount|CUDA initialization|driver on your system is too old|Found no NVIDIA driver", message
    ):
        draft.claim("torch.cuda_error", message)
    if found := re.search(
        r"(?:install supports|capabilities|supported architectures\S*)\D{0,30}((?:(?:sm|compute)_\d+[a-z]?[ ,]*){2,})",
        message,
    ):
        draft.claim("torch.arch_list", tuple(re.findall(r"(?:sm|compute)_\d+[a-z]?", found[1])))
    if found := re.search(
        r"(?:(?P<name>[A-Z][\w ()./-]{3,60}?) )?with CUDA capability sm_(?P<major>\d{1,2})(?P<minor>\d) is not", message
    ):
        draft.claim("torch.capabilities", (f"{found['major']}.{found['minor']}",), LISTED)
        if found["name"] and not draft.gpus and is_card(found["name"]):
            draft.gpu(0, name=found["name"].strip())
    if found := re.search(
        r"Found GPU\d+ (?P<name>.{3,60}?) which is of (?:compute capability \(CC\)|cuda capability) "
        r"(?P<number>\d{1,2}\.\d)",
        message,
    ):
        draft.claim("torch.capabilities", (found["number"],), LISTED)
        if not draft.gpus and is_card(found["name"]):
            draft.gpu(0, name=found["name"].strip())
