"""The table of ``nvidia-smi``, from the 300 drivers to the 590s (wider columns, "KMD Version"), and its errors."""

from __future__ import annotations

import re
from dataclasses import dataclass

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import LISTED, STATED, Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

FORMAT = "nvidia-smi"
_HEADER = Pattern(
    r"NVIDIA-SMI\s{1,40}(?P<smi>[\d.]{1,20}).{0,200}?(?:Driver|KMD) Version:\s{0,40}(?P<driver>[\d.]{1,20}|N/A)"
    r"(?:.{0,200}?CUDA (?:UMD )?Version:\s{0,40}(?P<cuda>[\d.]{1,20}|N/A|ERR!))?"
)
_NAME_ROW = Pattern(
    r"\|\s*(?P<index>\d{1,3})\s+(?P<name>\S.{1,60}?)\s+(?P<persistence>On|Off|N/A|WDDM|TCC|MCDM)\s*\|"
    r"\s*(?:(?P<bus>[0-9A-Fa-f]{2,8}[:.][0-9A-Fa-f:.]+)\s*)?(?:(?P<display>On|Off|N/A)\s*)?\|\s*(?P<ecc>\S+)?.*"
)
_USE_ROW = Pattern(
    r"\|\s*(?:\d{1,3}%|N/A|ERR!?|\[.{1,20}?\])\s+(?:(?P<temperature>\d{1,3}C|N/A|ERR!?)\s+)?(?:(?:P\d{1,2}|N/A|ERR!?)\s*)?"
    r"(?:(?P<power>[\d.]{1,20}W|N/A|ERR!?|Unknown.{0,8}?)\s*)?(?:/\s*)?(?:(?P<limit>[\d.]{1,20}W|N/A|ERR!?)\s*)?\|"
    r"\s*(?P<used>\d{1,7})MiB\s*/\s*(?P<total>\d{1,7})MiB\s*\|"
    r"\s*(?P<busy>\d{1,3}%|N/A|ERR!?)?\s*(?P<mode>Default|E\. ?Process|E\. ?Thread|Prohibited|N/A)?.*"
)
_MIG_ROW = Pattern(r"\|\s*\|\s*\|\s*(?P<mig>Enabled|Disabled|N/A)\*?\s*\|")
_PROCESS = Pattern(
    r"\|\s*(?P<gpu>\d{1,3})\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(?P<pid>\d{1,8})\s+(?P<type>C\+G|C|G|M\+C)\s+.*"
)
_FRAME = Pattern(r"[+|][-=+|\s]{4,}[+|]?")
_HEADINGS = Pattern(r"\|\s*(?:GPU\s|Fan\s|MIG\s|Processes|No running|ID\s|\|).*|\|.*(?:MIG M\.|BAR1-Usage).*")
_MODES = {
    "Default": "default",
    "E.Process": "exclusive-process",
    "E.Thread": "exclusive-thread",
    "Prohibited": "prohibited",
}

FAILURES = Pattern(
    r"NVIDIA-SMI has failed because|Failed to initialize NVML|Driver/library version mismatch|No devices were found"
    r"|Unable to determine the device handle|nvidia-smi: command not found|NVIDIA-SMI couldn't find libnvidia-ml"
    r"|couldn't communicate with the NVIDIA driver|command not found: nvidia-smi|GPU is lost|fallen off the bus",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Table:
    current: int | None = None
    inside: bool = False


def read(page: Page, draft: Draft) -> None:
    table = _Table()
    for number, text in page.left():
        if found := _HEADER.search(text):
            page.take(number)
            draft.format(FORMAT)
            table.inside = True
            if not words.is_unknown(found["driver"]):
                draft.claim("driver.kernel_module", found["driver"].rstrip("."), STATED)
            if found["cuda"] and re.fullmatch(r"\d{1,2}\.\d{1,2}", found["cuda"]):
                draft.claim("driver.cuda", found["cuda"])
            elif found["cuda"] == "ERR!":
                draft.message("nvidia-smi prints CUDA Version: ERR!")
            draft.claim("driver.smi", "", LISTED)
        elif text.startswith(("|", "+")) and _row(text, table, draft):
            page.take(number)
            if table.inside:
                draft.format(FORMAT)
        elif FAILURES.search(text):
            draft.claim("driver.smi", text)
        elif found := re.match(r"NVML library version:\s*(\d{3}\.\d+(?:\.\d+)?)", text):
            draft.claim("driver.management_library", found[1])
            page.take(number)
        elif found := re.search(r"NVRM version: .*?\s(\d{3}\.\d{2,3}(?:\.\d{2})?)\s", text + " "):
            draft.claim("driver.kernel_module", found[1], STATED)
            page.take(number)
    _count(draft, table)


def _count(draft: Draft, table: _Table) -> None:
    """The table lists every GPU of the machine."""
    if table.current is not None:
        draft.claim("gpus.count", max(draft.gpus) + 1, LISTED)


def _row(text: str, table: _Table, draft: Draft) -> bool:
    """One row of the table; False for a row that belongs to some other table."""
    if found := _PROCESS.fullmatch(text):
        if "C" in found["type"]:
            gpu = draft.gpus.get(int(found["gpu"]))
            if gpu is not None:
                gpu["processes"] = gpu.get("processes", 0) + 1
        return True
    if found := _NAME_ROW.fullmatch(text):
        table.current = int(found["index"])
        table.inside = True
        model = found["persistence"]
        draft.gpu(
            table.current,
            name=found["name"].rstrip(". "),
            persistence=words.truth(model),
            mig=True if found["ecc"] == "On" else None,  # what this column shows instead of a count where MIG is on
            ecc_mode=True if (found["ecc"] or "").isdigit() else None,
            ecc_uncorrected=words.number(found["ecc"] or ""),
        )
        return True
    if table.current is not None and (found := _USE_ROW.fullmatch(text)):
        power, limit = found["power"] or "", found["limit"] or ""
        draft.gpu(
            table.current,
            temperature=words.number((found["temperature"] or "").rstrip("C")),
            power_draw=words.amount(power) if power.endswith("W") else None,
            power_limit=words.amount(limit) if limit.endswith("W") else None,
            memory_used=int(found["used"]) * 1024**2,
            memory=int(found["total"]) * 1024**2,
            utilization=words.number((found["busy"] or "").rstrip("%")),
            compute_mode=_MODES.get((found["mode"] or "").replace(" ", "")),
        )
        return True
    if table.current is not None and (found := _MIG_ROW.fullmatch(text)):
        draft.gpu(table.current, mig=words.truth(found["mig"]))
        return True
    return bool(table.inside and (_FRAME.fullmatch(text) or _HEADINGS.fullmatch(text))) or bool(_FRAME.fullmatch(text))
