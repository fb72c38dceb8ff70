"""What bitsandbytes says at import and with ``python -m bitsandbytes``: the binary it looks for, and for which CUDA."""

from __future__ import annotations

import re

from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.formats.machine import capability
from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

FORMAT = "bitsandbytes"
_COMPLAINT = Pattern(
    r"CUDA[ _]SETUP:? .*(?:TODO|Defaulting to|failed|not found|Required library|Something unexpected|Problem)",
    re.IGNORECASE,
)


def read(page: Page, draft: Draft) -> None:
    """Facts are claimed; the lines themselves stay, so that errors among them become messages."""
    cpu = searched = ""
    for number, text in page.left():
        if re.match(r"(?:bin|(?:CUDA[ _]SETUP: )?Loading binary) .*libbitsandbytes_cpu\.", text):
            cpu = text
        elif re.search(r"libcudart\.so not found|did not contain \['libcudart|No GPU detected", text):
            searched = text
        if re.search(r"bitsandbytes(?! version)[_/:\\]|python -m bitsandbytes", text) or re.match(
            r"CUDA[ _]SETUP\b", text, re.IGNORECASE
        ):
            draft.format(FORMAT)
        if _COMPLAINT.match(text):
            draft.message(text)
            page.take(number)
            continue
        if version := re.match(r"bitsandbytes (?:library |)v?(\d[\w.]*)(?: loaded from.*)?$", text):
            draft.package("bitsandbytes", version[1])
        if found := re.search(r"compute capabilit\w+ among GPUs detected:\s*(.+)", text):
            capability(draft, found[1])
        elif found := re.search(
            r"PyTorch settings found: CUDA_VERSION=(\d{3}).*?Highest Compute Capability:\s*([\d., ()]+)", text
        ):
            draft.claim("torch.cuda", f"{int(found[1]) // 10}.{int(found[1]) % 10}")
            capability(draft, found[2])
        elif found := re.match(r"CudaSpecs\(.*?cuda_version_tuple=\((\d+), (\d+)\)", text):
            draft.claim("torch.cuda", f"{found[1]}.{found[2]}")
            capability(draft, " ".join(re.findall(r"highest_compute_capability=\([^)]*\)", text)))
        elif found := re.match(
            r"(?:CUDA[ _]SETUP: )?(?:Detected CUDA version|CUDA version:?)\s*(\d{3})$", text, re.IGNORECASE
        ):
            draft.extension("bitsandbytes", cuda=f"{int(found[1]) // 10}.{int(found[1]) % 10}")
        else:
            continue
        if not re.search(r"error|not |missing|fail", text, re.IGNORECASE):
            page.take(number)
    if cpu and searched:  # it looked for CUDA, found none, and says so nowhere in one line
        draft.message(f"CUDA Setup failed, and the CPU library took its place: {cpu}")
