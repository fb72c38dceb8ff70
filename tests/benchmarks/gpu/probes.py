"""The machine's own speed: matrix products, memory, transfers and launches, against what is known of the chip.

Known values are those of a target file (`[conditions]`, with its sources). Each probe of the trainer is repeated, so
that its spread is seen; matrix products are also sustained for a second, when the chip has warmed up and clocks fall.
"""

from __future__ import annotations

import statistics
from typing import Any

import torch
from trainer.measure import reference

from tests.benchmarks.gpu import machine
from tests.benchmarks.gpu.session import Session
from tests.benchmarks.gpu.timing import seconds_of


def measure(session: Session) -> None:
    """Five rounds of the trainer's probes, then sustained products and copies by size."""
    known = known_values(session)
    for number in range(session.pick(2, 5)):
        session.attempt("round %d" % number, lambda: dict(reference.probe(session.device)), 12)
    dtypes = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "tf32": torch.float32}
    for name, dtype in dtypes.items():
        for size in session.pick([128], [4096, 8192, 16384] if name != "float32" else [4096]):
            session.attempt("matmul %s %d" % (name, size), lambda n=name, d=dtype, s=size: product(session, n, d, s), 5)  # type: ignore[misc]
    for megabytes in session.pick([1], [16, 64, 256, 1024, 4096]):
        session.attempt("copy %d MB" % megabytes, lambda m=megabytes: copy(session, m), 3)  # type: ignore[misc]
    rounds = [session.rows[name] for name in session.rows if name.startswith("round") and "took" in session.rows[name]]
    lines = ["%-26s %12s %8s %12s" % ("probe", "median", "spread", "known")]
    for name in [key for key in (rounds[0] if rounds else {}) if key not in ("took", "error")]:
        values = [row[name] for row in rounds if name in row]
        spread = (max(values) - min(values)) / statistics.median(values)
        told = known.get(name)
        lines.append("%-26s %12.1f %7.1f%% %12s" % (name, statistics.median(values), 100 * spread, told or ""))
    for name, row in session.rows.items():
        if "tflops" in row:
            lines.append(
                "%-26s %9.1f TF %7.1f%% %12s" % (name, row["tflops"], 100 * row["spread"], row.get("watts", ""))
            )
        elif "gbs" in row:
            lines.append("%-26s %7.0f GB/s" % (name, row["gbs"]))
    session.table(lines)


def product(session: Session, name: str, dtype: torch.dtype, size: int) -> dict[str, Any]:
    """A matrix product of random numbers, for a second: TFLOP/s, its spread, and what the chip drew meanwhile."""
    device = session.device
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if name == "tf32" else "highest")
    try:
        left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
        out = torch.empty_like(left)
        with machine.Sampler(device) as sampler:
            took = seconds_of(lambda: torch.mm(left, right, out=out), device, budget=session.pick(0.05, 1.0))
    finally:
        torch.set_float32_matmul_precision(before)
    work = 2.0 * size**3 / 1e12
    return {
        "tflops": work / took.median, "best": work / took.low, "spread": (took.high - took.low) / took.median,
        **took.as_row(), **sampler.means(),
    }  # fmt: skip


def copy(session: Session, megabytes: int) -> dict[str, Any]:
    """Device to device, bytes read and bytes written both counted."""
    source = torch.randint(0, 255, (megabytes << 20,), dtype=torch.uint8, device=session.device)
    target = torch.empty_like(source)
    took = seconds_of(lambda: target.copy_(source), session.device, budget=session.pick(0.02, 0.3))
    return {"gbs": 2e-9 * (megabytes << 20) / took.median, **took.as_row()}


def known_values(session: Session) -> dict[str, str]:
    """What the table of GPUs says of this one's peaks, by the names of the probes; {} for one without."""
    row = machine.board(session.device)
    if not row:
        return {}
    session.facts["known"] = row
    peak: dict[str, Any] = row.get("peak", {})
    found: dict[str, list[Any]] = {
        "matmul_fp32_gflops": [peak.get("float32")], "matmul_tf32_gflops": [peak.get("tf32")],
        "matmul_bf16_gflops": [peak.get("bfloat16"), row.get("achievable")],
        "matmul_fp16_gflops": [peak.get("float16")], "copy_gbs": [row.get("bandwidth")],
    }  # fmt: skip
    factor = {"copy_gbs": 1.0}
    return {
        probe: " / ".join("%.0f" % (value * factor.get(probe, 1e3)) for value in values if value)
        for probe, values in found.items()
    }
