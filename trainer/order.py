"""Measured runs by order: an order file in, a report file out, written even when the run fails."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Dict, Optional

from trainer.errors import TrainerError
from trainer.protocol import Protocol
from trainer.settings import Settings, from_mapping, read_file

KNOWN = {"schema", "workload", "task", "preset", "settings", "flags", "run_folder", "report", "measure"}


def read(path: Path) -> Dict[str, Any]:
    """The order, checked for shape. TrainerError names the key at fault."""
    order = read_file(path)
    if order.get("schema") != 1:
        raise TrainerError(
            "bad-order",
            "%s: schema %r, but this trainer reads 1" % (path, order.get("schema")),
            "Use matching versions.",
        )
    unknown = sorted(set(order) - KNOWN)
    if unknown:
        raise TrainerError(
            "bad-order",
            "%s: unknown key %s" % (path, ", ".join(unknown)),
            "The keys are %s." % ", ".join(sorted(KNOWN)),
        )
    for key in ("task", "run_folder", "report"):
        if not isinstance(order.get(key), str):
            raise TrainerError("bad-order", "%s: %s must be a text" % (path, key), "Add it.")
    for key in ("settings", "flags"):
        if not isinstance(order.get(key, {}), dict):
            raise TrainerError("bad-order", "%s: %s must be an object" % (path, key), "Correct it.")
    return order


def settings_of(order: Dict[str, Any], path: Path) -> Settings:
    """The order's settings: preset, workload's own, then the overrides."""
    from trainer import workloads

    values = dict(order.get("settings", {}))
    name = order.get("workload") or values.get("workload")
    base = {**workloads.find(name).settings, "workload": name} if name else {}
    return from_mapping(
        {"output": order["run_folder"], **base, **values}, str(path), order.get("preset") or "default", order["task"]
    )


def protocol_of(order: Dict[str, Any], path: Path) -> Optional[Protocol]:
    """How to time the run; None when it is plain training."""
    measure = order.get("measure")
    if measure is None:
        return None
    kinds = {item.name: item.default for item in fields(Protocol)}
    if not isinstance(measure, dict):
        raise TrainerError("bad-order", "%s: measure must be an object or null" % path, "Correct it.")
    for name, value in measure.items():
        if name not in kinds:
            raise TrainerError("bad-order", "%s: unknown measure.%s" % (path, name), "It takes %s." % ", ".join(kinds))
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
        if not (isinstance(value, bool) if isinstance(kinds[name], bool) else number):
            raise TrainerError(
                "bad-order", "%s: measure.%s: %r is not usable" % (path, name, value), "Give a positive number."
            )
    return Protocol(**measure)


def empty_report(task: str, workload: Optional[str]) -> Dict[str, Any]:
    """A report in which nothing is known yet."""
    unknown = (
        "error device model warmup tokens_per_step breakdown packing_efficiency reference_probes contention memory "
        "model_path"
    ).split()
    return {
        "schema": 1, "outcome": "failed", "task": task, "workload": workload, "settings": {}, "choices": [],
        "versions": {}, "steps": 0, "seconds": 0.0,
        "losses": [], "grad_norms": [], "windows": [], **dict.fromkeys(unknown),
    }  # fmt: skip


def write_report(path: Path, report: Dict[str, Any]) -> None:
    """Whole or not at all. TrainerError when the folder cannot be written."""
    partial = path.with_name("%s.tmp-%s" % (path.name, uuid.uuid4().hex[:8]))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as stream:
            json.dump(report, stream, indent=1, allow_nan=False)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise TrainerError(
            "report-not-written", "%s: %s" % (path, error.strerror or error), "Choose a folder with free space."
        ) from None


def as_json(report: Dict[str, Any], settings: Settings) -> Dict[str, Any]:
    """The report with its dataclasses as plain values."""
    plain = dict(report)
    plain["choices"] = [asdict(choice) for choice in report["choices"]]
    plain["settings"] = {**asdict(settings), "data": list(settings.data), **plain.pop("settled", {})}
    return plain
