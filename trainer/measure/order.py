"""Measured runs by order: an order file in, a report file out, written even when the run fails."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from trainer.data import whole, workloads
from trainer.errors import TrainerError, disk_remedy
from trainer.measure.protocol import Protocol
from trainer.options.settings import Settings, from_mapping, read_file
from trainer.report import RunReport

KNOWN = {"schema", "workload", "task", "preset", "settings", "flags", "run_folder", "report", "measure"}


def read(path: Path) -> dict[str, Any]:
    """The order, checked for shape. TrainerError names the key at fault."""
    order = read_file(path)
    if order.get("schema") != 1:
        raise TrainerError(
            "bad-order",
            f"{path}: schema {order.get('schema')!r}, but this trainer reads 1",
            "Use matching versions.",
        )
    unknown = sorted(set(order) - KNOWN)
    if unknown:
        raise TrainerError(
            "bad-order",
            f"{path}: unknown key {', '.join(unknown)}",
            f"The keys are {', '.join(sorted(KNOWN))}.",
        )
    for key in ("task", "run_folder", "report"):
        if not isinstance(order.get(key), str):
            raise TrainerError("bad-order", f"{path}: {key} must be a text", "Add it.")
    for key in ("settings", "flags"):
        if not isinstance(order.get(key, {}), dict):
            raise TrainerError("bad-order", f"{path}: {key} must be an object", "Correct it.")
    return order


def settings_of(order: dict[str, Any], path: Path) -> Settings:
    """The order's settings: preset, workload's own, then the overrides."""
    values = dict(order.get("settings", {}))
    name = order.get("workload") or values.get("workload")
    base = {**workloads.find(name).settings, "workload": name} if name else {}
    return from_mapping(
        {"output": order["run_folder"], **base, **values}, str(path), order.get("preset") or "default", order["task"]
    )


def protocol_of(order: dict[str, Any], path: Path) -> Protocol | None:
    """How to time the run; None when it is plain training."""
    measure = order.get("measure")
    if measure is None:
        return None
    kinds = {item.name: item.default for item in fields(Protocol)}
    if not isinstance(measure, dict):
        raise TrainerError("bad-order", f"{path}: measure must be an object or null", "Correct it.")
    for name, value in measure.items():
        if name not in kinds:
            raise TrainerError("bad-order", f"{path}: unknown measure.{name}", f"It takes {', '.join(kinds)}.")
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and (value > 0 or value == kinds[name])
        if not (isinstance(value, bool) if isinstance(kinds[name], bool) else number):
            raise TrainerError(
                "bad-order", f"{path}: measure.{name}: {value!r} is not usable", "Give a positive number."
            )
    return Protocol(**measure)


def write_report(path: Path, report: RunReport) -> None:
    """Whole or not at all. TrainerError when the folder cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole.write_file(path, json.dumps(report.as_json(), indent=1, allow_nan=False).encode())
    except OSError as error:
        raise TrainerError("report-not-written", f"{path}: {error.strerror or error}", disk_remedy(error)) from None
