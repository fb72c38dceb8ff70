"""The CPU block of collect_env: ``lscpu`` on Linux, WMI on Windows, ``sysctl`` on macOS."""

from __future__ import annotations

import re

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import LISTED, Draft
from envdoctor.facts.pasted.page import Page, pair
from envdoctor.values.pattern import Pattern

_KEEP = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8", "amx_tile", "sve")
_KNOWN = Pattern(
    r"Architecture|CPU op-mode\(s\)|Address sizes|Byte Order|CPU\(s\)|On-line CPU\(s\) list|Off-line CPU\(s\) list"
    r"|Vendor ID|BIOS .*|Model name|CPU family|Model|Thread\(s\) per core|Core\(s\) per (?:socket|cluster)|Socket\(s\)"
    r"|Cluster\(s\)|Stepping|BogoMIPS|Flags|Virtualization.*|Hypervisor vendor|L1d.*|L1i.*|L2.*|L3.*|NUMA.*"
    r"|Vulnerabilit.*|CPU (?:max|min|static|dynamic)?\s?MHz|Frequency boost|CPU\(s\) scaling MHz|Caches.*"
    r"|(?:Itlb multihit|L1tf|Mds|Meltdown|Mmio stale data|Retbleed|Spec .*|Spectre .*|Srbds|Tsx async abort"
    r"|Gather data sampling|Reg file data sampling|Indirect target selection|Ghostwrite|Tsa|Vmscape)"
    r"|Name|Manufacturer|Family|ProcessorType|DeviceID|CurrentClockSpeed|MaxClockSpeed|L2CacheS\w+|Revision"
)


def read(page: Page, draft: Draft) -> None:
    """Only lines after a "CPU:" heading, "Architecture:" or vLLM's "CPU Info" belong to the block."""
    inside = False
    flags: list[str] = []
    in_flags = False
    cores_per_socket = sockets = None
    for number, text in page.left():
        if text in ("CPU:", "CPU Info", "CPU info:") or re.match(r"Architecture\s*:\s*(?:x86|aarch|arm|ppc)", text):
            inside = True
        if not inside:
            continue
        found = pair(text)
        if in_flags and (found is None or not _KNOWN.fullmatch(found[0])) and re.fullmatch(r"[a-z0-9_ .]+", text):
            flags += text.split()
            page.take(number)
            continue
        in_flags = False
        if found is None or not (text in ("CPU:",) or _KNOWN.fullmatch(found[0])):
            inside = text in ("CPU Info", "CPU info:") or set(text) <= set("=- ")
            continue
        page.take(number)
        key, value = found
        if key in ("Model name", "Name") and not words.is_unknown(value) and re.search("[A-Za-z]", value):
            draft.claim("host.cpu_model", value)
        elif key == "CPU(s)":
            draft.claim("host.cpus", words.number(value))
        elif key.startswith("Core(s) per"):
            cores_per_socket = words.number(value)
        elif key == "Socket(s)":
            sockets = words.number(value)
        elif key == "NUMA node(s)":
            draft.claim("host.numa_nodes", words.number(value))
        elif key == "Architecture" and re.fullmatch(r"x86_64|aarch64|arm64|ppc64le", value):
            draft.claim("host.machine", value, LISTED)
        elif key == "Flags":
            flags += value.split()
            in_flags = True
    if cores_per_socket and sockets:
        draft.claim("host.cores", cores_per_socket * sockets)
    if flags:
        draft.claim("host.cpu_flags", tuple(flag for flag in _KEEP if flag in flags))
