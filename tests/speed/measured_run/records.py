"""Records of a measured run with given properties, for tables of cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from envdoctor.speed.measured_run.record import Loader, Record
from envdoctor.speed.report import Device, Window

HEALTHY = {
    "data": 0.01,
    "copy": 0.0,
    "forward": 0.3,
    "backward": 0.55,
    "optimizer": 0.12,
    "checkpoint": 0.0,
    "other": 0.02,
}
CPU = Device(type="cpu", name="a CPU", cpu_model="a CPU", threads=8, cores=8)
H100 = Device(type="cuda", name="NVIDIA H100 80GB HBM3", capability="9.0", cpu_model="a CPU", threads=8, cores=8)
TOKENS = {"looked": 32, "examples": 256, "slots": 32 * 8 * 512, "real": 32 * 8 * 480, "trained": 32 * 8 * 300}


def windows(parts: dict[str, float], rates: tuple[float, ...] = (10.0,) * 10) -> tuple[Window, ...]:
    return tuple(
        Window(steps=20, seconds=20 / rate, breakdown={p: share * 20 / rate for p, share in parts.items()})
        for rate in rates
    )


def record(parts: dict[str, float] | None = None, **changes: Any) -> Record:
    made = Record(
        schema=1,
        steps=220,
        seconds=25.0,
        device=H100,
        program="train.py",
        pid=7,
        windows=windows(parts or HEALTHY),
        waits=220,
        loaders=(Loader(dataset="Chats", length=2000, batch_size=8, workers=4, pin_memory=True),),
        batches=TOKENS,
        versions={"torch": "2.13.0"},
        ended="exit",
    )
    return replace(made, **changes)


def shares(**parts: float) -> dict[str, float]:
    rest = 1.0 - sum(parts.values())
    return {**dict.fromkeys(HEALTHY, 0.0), "forward": rest * 0.3, "backward": rest * 0.7, **parts}


def loaders(**changes: Any) -> tuple[Loader, ...]:
    return (replace(record().loaders[0], **changes),)
