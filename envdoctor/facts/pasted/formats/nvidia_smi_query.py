"""``nvidia-smi -q`` (indented sections) and ``nvidia-smi --query-gpu=... --format=csv``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.formats.collect_env import driver as read_driver
from envdoctor.facts.pasted.page import Page

FORMAT = "nvidia-smi"
Value = Callable[[str], Any]


def _mode(value: str) -> str | None:
    return {"Default": "default", "Exclusive_Process": "exclusive-process", "Prohibited": "prohibited"}.get(value)


def _text(value: str) -> str | None:
    return None if words.is_unknown(value) else value


# section/key of -q -> (field of Gpu, how to read it); the sections are the headings without a value
_FIELDS: Mapping[str, tuple[str, Value]] = {
    "product name": ("name", _text),
    "persistence mode": ("persistence", words.truth),
    "compute mode": ("compute_mode", _mode),
    "mig mode/current": ("mig", words.truth),
    "fb memory usage/total": ("memory", words.size),
    "fb memory usage/used": ("memory_used", words.size),
    "utilization/gpu": ("utilization", words.number),
    "temperature/gpu current temp": ("temperature", words.number),
    "temperature/gpu slowdown temp": ("temperature_slowdown", words.number),
    "ecc mode/current": ("ecc_mode", words.truth),
    "gpu power readings/power draw": ("power_draw", words.amount),
    "gpu power readings/average power draw": ("power_draw", words.amount),
    "gpu power readings/current power limit": ("power_limit", words.amount),
    "gpu power readings/default power limit": ("power_default", words.amount),
    "power readings/power draw": ("power_draw", words.amount),
    "power readings/power limit": ("power_limit", words.amount),
    "power readings/enforced power limit": ("power_limit", words.amount),
    "power readings/default power limit": ("power_default", words.amount),
    "clocks/sm": ("sm_clock", words.number),
    "clocks/memory": ("memory_clock", words.number),
    "max clocks/sm": ("sm_clock_max", words.number),
    "max clocks/memory": ("memory_clock_max", words.number),
    "pcie generation/current": ("pcie_generation", words.number),
    "pcie generation/device current": ("pcie_generation", words.number),
    "pcie generation/max": ("pcie_generation_max", words.number),
    "link width/current": ("pcie_width", words.number),
    "link width/max": ("pcie_width_max", words.number),
    "remapped rows/pending": ("rows_pending", words.truth),
    "remapped rows/remapping failure occurred": ("rows_failed", words.truth),
    "retired pages/pending page blacklist": ("retired_pending", words.truth),
}
_REASONS = {
    "idle": "idle", "applications clocks setting": "app-clocks", "sw power cap": "sw-power-cap",
    "hw slowdown": "hw-slowdown", "sync boost": "sync-boost", "sw thermal slowdown": "sw-thermal",
    "hw thermal slowdown": "hw-thermal", "hw power brake slowdown": "power-brake",
    "display clock setting": "display-clocks",
}  # fmt: skip
_COLUMNS: Mapping[str, tuple[str, Value]] = {
    "name": ("name", _text),
    "gpu_name": ("name", _text),
    "compute_cap": ("capability", _text),
    "memory.total": ("memory", lambda value: _mebibytes(value)),
    "memory.used": ("memory_used", lambda value: _mebibytes(value)),
    "persistence_mode": ("persistence", words.truth),
    "compute_mode": ("compute_mode", _mode),
    "mig.mode.current": ("mig", words.truth),
    "utilization.gpu": ("utilization", words.number),
    "temperature.gpu": ("temperature", words.number),
    "power.draw": ("power_draw", words.amount),
    "power.limit": ("power_limit", words.amount),
    "enforced.power.limit": ("power_limit", words.amount),
    "power.default_limit": ("power_default", words.amount),
    "clocks.sm": ("sm_clock", words.number),
    "clocks.current.sm": ("sm_clock", words.number),
    "clocks.max.sm": ("sm_clock_max", words.number),
    "clocks.mem": ("memory_clock", words.number),
    "clocks.max.mem": ("memory_clock_max", words.number),
    "pcie.link.gen.current": ("pcie_generation", words.number),
    "pcie.link.gen.gpucurrent": ("pcie_generation", words.number),
    "pcie.link.gen.max": ("pcie_generation_max", words.number),
    "pcie.link.width.current": ("pcie_width", words.number),
    "pcie.link.width.max": ("pcie_width_max", words.number),
    "ecc.errors.uncorrected.volatile.total": ("ecc_uncorrected", words.number),
}


def read(page: Page, draft: Draft) -> None:
    _sections(page, draft)
    _csv(page, draft)


def _sections(page: Page, draft: Draft) -> None:
    started = False
    index = -1
    section = ""
    reasons: dict[int, list[str]] = {}
    for number, text in page.left():
        if "NVSMI LOG" in text:
            started = True
            page.take(number)
            draft.format(FORMAT)
            continue
        if not started:
            continue
        key, colon, value = (part.strip() for part in text.partition(" : "))
        key = key.lower()
        if re.fullmatch(r"gpu [0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d", key):
            index += 1
            draft.gpu(index)
        elif not colon:
            if len(text) > 60 or text.endswith((".", ":")):
                continue
            section = key
        elif key == "driver version":
            read_driver(draft, value)
        elif key == "cuda version":
            draft.claim("driver.cuda", value if re.fullmatch(r"\d+\.\d+", value) else None)
        elif key == "attached gpus":
            draft.claim("gpus.count", words.number(value))
        elif index >= 0 and section in ("clocks throttle reasons", "clocks event reasons") and key in _REASONS:
            reasons.setdefault(index, [])
            if value == "Active":
                reasons[index].append(_REASONS[key])
        elif index >= 0 and (field := _FIELDS.get(f"{section}/{key}") or _FIELDS.get(key)):
            draft.gpu(index, **{field[0]: field[1](value)})
        page.take(number)
    for gpu, active in reasons.items():
        draft.gpu(gpu, throttle_reasons=tuple(active))


def _csv(page: Page, draft: Draft) -> None:
    """A heading of known columns, then one row per GPU."""
    columns: list[str] = []
    row = 0
    for number, text in page.left():
        cells = [cell.strip() for cell in text.split(",")]
        names = [re.sub(r"\s{0,40}\[[^\]]{0,80}\]", "", cell) for cell in cells]
        if len(names) >= 2 and sum(name in _COLUMNS or name in _OTHERS for name in names) == len(names):
            columns, row = names, 0
        elif columns and len(cells) == len(columns):
            index = row
            for column, cell in zip(columns, cells, strict=True):
                if column == "index" and cell.isdigit() and len(cell) < 4:
                    index = int(cell)
            for column, cell in zip(columns, cells, strict=True):
                if column == "driver_version":
                    read_driver(draft, cell)
                elif column in _COLUMNS:
                    field, value = _COLUMNS[column]
                    draft.gpu(index, **{field: value(cell)})
            row += 1
        else:
            columns = []
            continue
        page.take(number)
        draft.format(FORMAT)


_OTHERS = frozenset(("index", "driver_version", "uuid", "gpu_uuid", "pci.bus_id", "pstate", "timestamp", "count",
                     "serial", "memory.free", "utilization.memory", "fan.speed", "gpu_bus_id",
                     "clocks_throttle_reasons.active", "clocks_event_reasons.active", "clocks.gr", "vbios_version",
                     "temperature.memory"))  # fmt: skip


def _mebibytes(value: str) -> int | None:
    """ "81920 MiB", or the bare number of ``--format=csv,nounits``."""
    return words.size(value) or (int(value) * 1024**2 if value.isdigit() and len(value) < 9 else None)
