"""``nvidia-smi topo -m``: how each pair of GPUs is joined, and its affinities."""

from __future__ import annotations

import ast
import re

from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.page import Page, pair
from envdoctor.values.pattern import Pattern

FORMAT = "nvidia-smi-topo"
_LINK = Pattern(r"X|NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC")
_LEGEND = Pattern(r"(?:Legend:?|(?:X|SYS|NODE|PHB|PXB|PIX|NV#)\s+=\s.*|NIC Legend:?|NIC\d+: \S+)")


def read(page: Page, draft: Draft) -> None:
    """Rows "GPU0  X  NV18 ..."; also the same as "topology.GPU0: ['X', 'PIX', ...]"."""
    rows: dict[int, tuple[str, ...]] = {}
    columns = 0
    for number, text in page.left():
        if re.match(r"GPU0\s+(?:GPU1\b|NIC0\b|mlx\w*|CPU Affinity)", text):
            columns = max(columns, len(re.findall(r"\bGPU\d{1,3}\b", text)))
        elif row := re.match(r"GPU(\d{1,3})\s+((?:(?:X|NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC)\b\s*)+)", text):
            rows[int(row[1])] = tuple(row[2].split())
        elif _LEGEND.fullmatch(text) or re.match(r"(?:NIC\d+|mlx\w+)\s+(?:X|NV\d|PIX|PXB|PHB|NODE|SYS)\b", text):
            pass
        elif (found := pair(text)) and (row := re.fullmatch(r"topology\.GPU(\d{1,3})", found[0])):
            rows[int(row[1])] = _words(found[1])
        elif found and found[0] == "topology_columns":
            columns = sum(word.startswith("GPU") for word in re.findall(r"[\w]+", found[1]))
        else:
            continue
        page.take(number)
        draft.format(FORMAT)
    if rows and sorted(rows) == list(range(len(rows))):
        count = max(columns, len(rows))
        matrix = tuple(rows[index][:count] for index in sorted(rows))
        draft.claim("gpus.topology", matrix)
        draft.claim("gpus.count", count)


def _words(text: str) -> tuple[str, ...]:
    try:
        listed = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        listed = None
    words = listed if isinstance(listed, (list, tuple)) else text.split()
    return tuple(word for word in map(str, words) if _LINK.fullmatch(word))
