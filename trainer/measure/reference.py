"""Reference probes: what this machine gives at this moment to work that has nothing to do with the trainer.

Timed before and after a measured run, they tell a slower machine from a slower stack. All together they take a few
seconds, on a GPU most of them for the products that training consists of: its power limit bites only after a while.
"""

from __future__ import annotations

import statistics
import time
from typing import Any, Callable

import torch

SECONDS = 0.25  # for each kind of work
LONG = 1.5  # for the products of a GPU's training format


def probe(device: torch.device) -> dict[str, float]:
    """Names carry the unit: *_gflops, *_gbs (10^9 bytes/s), *_mops (10^6 operations/s), *_us."""
    results = {"python_mops": _python_loop()}
    size = 1024 if device.type == "cpu" else 8192
    results["matmul_fp32_gflops"] = _float32(device, size if device.type == "cpu" else 4096, "highest")
    if device.type == "cpu":
        results["matmul_bf16_gflops"] = _matmul(device, torch.bfloat16, size // 2)
    results["copy_gbs"] = _copy(device)
    if device.type == "cuda":
        native = torch.cuda.get_device_capability(device) >= (8, 0)  # older ones imitate bfloat16 and train in float16
        for name, dtype, trained in (("bf16", torch.bfloat16, native), ("fp16", torch.float16, not native)):
            best, middle = _products(device, dtype, size, LONG if trained else SECONDS)
            results[f"matmul_{name}_gflops"] = best
            if trained:
                results[f"matmul_{name}_median_gflops"] = middle
        results["matmul_tf32_gflops"] = _float32(device, 8192, "high")
        results["pinned_to_device_gbs"] = _to_device(device, pinned=True)
        results["pageable_to_device_gbs"] = _to_device(device, pinned=False)
        results["device_to_pinned_gbs"] = _to_host(device)
        results["launch_us"] = _launch(device)
    return {name: round(value, 3) for name, value in results.items()}


def _best(call: Callable[[], Any]) -> float:
    """Shortest of repeated calls within SECONDS: the least disturbed one."""
    return min(_times(call, SECONDS))


def _times(call: Callable[[], Any], length: float) -> list[float]:
    """Seconds of each of repeated calls within ``length`` seconds, one at least. The first two are not counted."""
    call()
    call()
    times: list[float] = []
    end = time.perf_counter() + length
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def _synchronous(device: torch.device, call: Callable[[], Any]) -> Callable[[], Any]:
    if device.type == "cpu":
        return call

    def waited() -> None:
        call()
        torch.cuda.synchronize(device)

    return waited


def _python_loop() -> float:
    def loop() -> int:
        total = 0
        for number in range(200_000):
            total += number & 7
        return total

    return 0.2 / _best(loop)


def _matmul(device: torch.device, dtype: torch.dtype, size: int) -> float:
    return _products(device, dtype, size, SECONDS)[0]


def _products(device: torch.device, dtype: torch.dtype, size: int, length: float) -> tuple[float, float]:
    """GFLOP/s of the best product of two square matrices within ``length`` seconds, and of the middle one."""
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    out = torch.empty_like(left)
    times = _times(_synchronous(device, lambda: torch.mm(left, right, out=out)), length)
    work = 2 * size**3 / 1e9
    return work / min(times), work / statistics.median(times)


def _float32(device: torch.device, size: int, precision: str) -> float:
    """At the given precision, whatever the run's own flag says: a probe must not depend on the settings it explains."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        return _matmul(device, torch.float32, size)
    finally:
        torch.set_float32_matmul_precision(before)


def _copy(device: torch.device) -> float:
    size = 64 << 20 if device.type == "cpu" else 1 << 30
    source = torch.ones(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * size / _best(_synchronous(device, lambda: target.copy_(source))) / 1e9  # each byte is read and written


def _to_device(device: torch.device, pinned: bool) -> float:
    source = torch.ones(256 << 20, dtype=torch.uint8)
    source = source.pin_memory() if pinned else source
    target = torch.empty(source.shape, dtype=torch.uint8, device=device)
    return float(source.numel()) / _best(_synchronous(device, lambda: target.copy_(source, non_blocking=True))) / 1e9


def _to_host(device: torch.device) -> float:
    """What checkpoints and logs take: from the device into pinned memory."""
    target = torch.empty(256 << 20, dtype=torch.uint8).pin_memory()
    source = torch.ones(target.shape, dtype=torch.uint8, device=device)
    return float(source.numel()) / _best(_synchronous(device, lambda: target.copy_(source, non_blocking=True))) / 1e9


def _launch(device: torch.device) -> float:
    """Microseconds of host and device time per tiny kernel in a long queue."""
    tiny = torch.zeros(1, device=device)

    def many() -> None:
        for _ in range(1000):
            tiny.add_(1)

    return _best(_synchronous(device, many)) * 1e3
