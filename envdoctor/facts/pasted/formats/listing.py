"""Lines in which a person lists the machine: "Windows 11, RTX 4090, driver 551.61", "2x A100 80GB, torch 2.4.0"."""

from __future__ import annotations

import re

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import INFERRED, Draft
from envdoctor.facts.pasted.formats.machine import cudnn
from envdoctor.facts.pasted.formats.platform import read_system
from envdoctor.facts.pasted.page import Page
from envdoctor.knowledge.gpus import capability_of
from envdoctor.values.pattern import Pattern

_DRIVER = Pattern(r"(?:NVIDIA )?drivers?:? (?:version )?v?(\d{3}(?:\.\d{1,3}){1,2})", re.IGNORECASE)
_PYTHON = Pattern(r"Python:? v?(3\.\d{1,2}(?:\.\d{1,2})?)", re.IGNORECASE)
_TORCH = Pattern(rf"(?:PyTorch|torch):? v?({words.VERSION})", re.IGNORECASE)
_CUDNN = Pattern(r"cuDNN:? v?(\d[\d.]*)", re.IGNORECASE)
_CUDA = Pattern(r"CUDA:? v?\d{1,2}\.\d{1,2}", re.IGNORECASE)  # of what, it does not say
_SYSTEM = Pattern(
    r"(?:Microsoft )?Windows(?: (?:Server )?\d{1,4})?(?: \w+){0,3}|(?:Ubuntu|Debian|CentOS|Fedora|Rocky Linux|RHEL)"
    r" \d[\w. ]{0,20}|Linux|macOS(?: \d[\w.]*)?|WSL ?[12]?",
    re.IGNORECASE,
)
_MACHINE = Pattern(r"(?:x86_64|amd64|aarch64|arm64)", re.IGNORECASE)
_GPU = Pattern(r"(?:(\d{1,2})\s?[x×*]\s?)?([A-Z][\w .-]{1,44}?)(?:\s?\(\d{1,3}\s?GB\))?(?:\s?[x×*]\s?(\d{1,2}))?")


def read(page: Page, draft: Draft) -> None:
    """A line is a listing when most of its parts name a thing and nothing else; what it says is the weakest claim."""
    for number, text in page.left():
        if len(text) > 160 or ": " in text.split(",", 1)[0]:
            continue
        parts = [
            part.strip(" .") for part in re.split(r"\s{0,40}(?:[,;|]|\s/\s|\s\+\s)\s{0,40}", text) if part.strip(" .")
        ]
        if not 1 <= len(parts) <= 10:
            continue
        if len({found[1] for part in parts if (found := _TORCH.fullmatch(part))}) > 1:
            continue  # releases that are compared
        known = [part for part in parts if _part(part, None)]
        if 2 * len(known) > len(parts) or len(known) >= 3:
            for part in known:
                _part(part, draft)
            page.take(number)


def _part(text: str, draft: Draft | None) -> bool:
    """Is the text one thing? With a draft, claim it."""
    if found := _DRIVER.fullmatch(text):
        return _claim(draft, "driver.kernel_module", found[1])
    if found := _PYTHON.fullmatch(text):
        return _claim(draft, "interpreter.version", found[1])
    if found := _TORCH.fullmatch(text):
        return _claim(draft, "torch.version", found[1])
    if found := _CUDNN.fullmatch(text):
        if draft:
            cudnn(draft, found[1])
        return True
    if _CUDA.fullmatch(text):
        return True
    if found := _MACHINE.fullmatch(text):
        return _claim(draft, "host.machine", "x86_64" if found[0].lower() == "amd64" else found[0].lower())
    if _SYSTEM.fullmatch(text):
        if draft:
            if re.match("wsl", text, re.IGNORECASE):
                draft.claim("host.container", "wsl1" if text.endswith("1") else "wsl2", INFERRED)
            read_system(text, draft)
        return True
    found = _GPU.fullmatch(text)
    if found is None or not words.is_card(found[2]) or capability_of(found[2]) is None:
        return False
    if draft and not draft.gpus:
        draft.gpu(0, name=found[2].strip())
        count = found[1] or found[3]
        draft.claim("gpus.count", int(count) if count else None, INFERRED)
    return True


def _claim(draft: Draft | None, name: str, value: str) -> bool:
    if draft:
        draft.claim(name, value, INFERRED)
    return True
