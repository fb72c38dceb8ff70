"""How much of an optimizer's time its fused form saves on this CPU: both over the same weights, in turns.

python -m tests.benchmarks.fused_optimizer --record FILE
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

RECORD = Path(__file__).parent / "recorded" / "fused-optimizer.json"
MODELS = {
    "0.5M weights in 4 tensors": lambda: nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 10)),
    "10M weights in 80 tensors": lambda: nn.Sequential(*[nn.Linear(512, 512) for _ in range(40)]),
}
OPTIMIZERS: dict[str, dict[str, Any]] = {"AdamW": {}, "Adam": {}, "SGD": {"momentum": 0.9, "lr": 1e-3}}


def seconds(step: Any) -> float:
    begun = time.perf_counter()
    step()
    return time.perf_counter() - begun


def arm(model: nn.Module, name: str, *, fused: bool) -> Any:
    """A step of this optimizer over gradients that stay; the first one, which makes the moments, is over."""
    for weight in model.parameters():
        weight.grad = torch.randn_like(weight)
    made = getattr(torch.optim, name)(model.parameters(), fused=fused, **OPTIMIZERS[name])
    made.step()
    return made.step


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.fused_optimizer", description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--record", type=Path, default=RECORD)
    given = parser.parse_args()
    rows = []
    for title, make in MODELS.items():
        for name in OPTIMIZERS:
            plain, fused = arm(make(), name, fused=False), arm(make(), name, fused=True)
            ratios = [seconds(plain) / seconds(fused) for _ in range(given.rounds)]
            low, middle, high = statistics.quantiles(ratios, n=4)
            rows.append({"weights": title, "optimizer": name, "ratios": [round(ratio, 3) for ratio in ratios]})
            print(f"{title}, {name}: fused {middle:.1f} times as fast (quartiles {low:.1f} to {high:.1f})")
    threads = torch.get_num_threads()
    given.record.write_text(json.dumps({"torch": torch.__version__, "threads": threads, "rows": rows}) + "\n", "utf-8")


if __name__ == "__main__":
    main()
