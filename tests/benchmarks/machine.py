"""What a record says of where and when it was made: without it a figure cannot be set beside another."""

from __future__ import annotations

import datetime
from typing import Any

import torch
from trainer.compute import hardware

PRODUCTS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve", "bf16")  # units whose products differ in pace


def described() -> dict[str, Any]:
    """The day (UTC), the processor's own name, the cores that may be used, and its units for products."""
    found = hardware.describe(torch.device("cpu"))
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(), "cpu": found.cpu_model,
        "cores": found.cores, "units": sorted(hardware.cpu_flags() & set(PRODUCTS)),
    }  # fmt: skip
