"""What machines of one fleet should share, read from a recorded report without building it: a fleet has thousands.

A report is a JSON document of ``envdoctor facts``, ``verify`` or ``preflight``. What is not of the expected type is
passed over: a report of another version, or a damaged one, is judged by what can be read of it. Readings that always
differ (clocks, load, free memory) are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from envdoctor.values.numbers import is_positive

Pair = tuple[str, str]  # subject, value
HOST = {
    "kernel": "kernel", "cpu_model": "CPU model", "cpus": "CPUs", "cpu_quota": "CPU quota", "shm": "/dev/shm",
    "files_soft": "open files", "governor": "CPU governor", "transparent_hugepages": "transparent huge pages",
}  # fmt: skip
LONGEST = 200  # characters of a value


def packages(facts: Mapping[str, Any]) -> list[Pair] | None:
    """Versions by package; None where they could not be read, so that absence is told from not knowing."""
    section = facts.get("packages")
    if not isinstance(section, dict) or "unavailable" in section:
        return None
    rows = section.get("distributions", ())
    try:
        return [("package " + row["name"], row["version"]) for row in rows]
    except (TypeError, KeyError):
        read = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        return [(f"package {row.get('name', '?')}", str(row.get("version", "?"))[:LONGEST]) for row in read]


def others(facts: Mapping[str, Any]) -> Iterator[Pair]:
    """Everything but packages, as text."""
    interpreter, torch, driver, gpus, host, variables = (
        _section(facts, name) for name in ("interpreter", "torch", "driver", "gpus", "host", "variables")
    )
    if "version" in interpreter:
        yield "python", _text(interpreter["version"])
    if "version" in torch:
        yield "torch CUDA", _text(torch.get("cuda") or "none")
        for name, flag in _section(torch, "flags").items():
            known = flag if isinstance(flag, dict) else {}
            yield f"flag {name}", _text(known.get("value") or "unreadable")
        for name in ("cudnn", "nccl"):
            if torch.get(name):
                yield f"torch {name}", _text(torch[name])
    if driver:
        yield "driver", _text(driver.get("kernel_module") or "none")
    if gpus:
        yield from _gpus(gpus)
    for name, subject in HOST.items():
        if host.get(name) is not None:
            yield subject, _text(host[name])
    for name, value in variables.items():
        yield f"variable {name}", _text(value)


def _gpus(section: Mapping[str, Any]) -> Iterator[Pair]:
    devices = cards(section)
    count = section.get("count")
    yield "GPUs", str(len(devices) if count is None else count)
    names = Counter(_text(card.get("name", "?")) for card in devices)
    yield "GPU models", ", ".join(f"{number} x {name}" for name, number in sorted(names.items())) or "none"
    limits = [card["power_limit"] for card in devices if isinstance(card.get("power_limit"), (int, float))]
    if limits:
        yield "lowest power limit", f"{min(limits):.0f} W"
    for name, subject in (("pcie_width", "narrowest PCIe width"), ("nvlinks", "fewest NVLinks")):
        known = [card[name] for card in devices if isinstance(card.get(name), int)]
        if known:
            yield subject, str(min(known))
    modes = {str(card["ecc_mode"]) for card in devices if isinstance(card.get("ecc_mode"), bool)}
    if modes:
        yield "ECC", " and ".join("on" if mode == "True" else "off" for mode in sorted(modes))


def cards(section: Any) -> list[dict[str, Any]]:
    """The GPUs of a section "gpus"."""
    devices = section.get("devices") if isinstance(section, dict) else None
    return [card for card in devices if isinstance(card, dict)] if isinstance(devices, list) else []


def speeds(document: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """How fast a machine was: steps a second of its workload, and its reference probes, by device and name."""
    verdict = document.get("speed") if isinstance(document.get("speed"), dict) else document
    assert isinstance(verdict, Mapping)
    device = _text(_section(_section(verdict, "conditions"), "device").get("name") or "unknown device")
    rate = verdict.get("steps_per_second")
    if is_positive(rate):
        yield f"{_text(verdict.get('workload') or 'workload')} on {device}, steps/s", float(rate)
    probes = verdict.get("reference_probes")
    rows = [row for row in probes.values() if isinstance(row, dict)] if isinstance(probes, dict) else []
    for name in sorted({name for row in rows for name in row}):
        known = [float(row[name]) for row in rows if is_positive(row.get(name))]
        if known:
            yield f"{_text(name)} on {device}", max(known)  # the best: contention only slows


def _section(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) and "unavailable" not in found else {}


def _text(value: Any) -> str:
    return value[:LONGEST] if isinstance(value, str) else str(value)[:LONGEST]
