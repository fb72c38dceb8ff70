"""A short loop of three products a step; as asked by its arguments in bfloat16, compiled, with a fused optimizer."""

import contextlib
import sys

import torch
from torch import nn

model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
run = torch.compile(model, backend="aot_eager") if "compiled" in sys.argv else model
optimizer = torch.optim.AdamW(model.parameters(), fused="fused" in sys.argv or None)
rows, wanted = torch.randn(16, 32), torch.randint(0, 4, (16,))
for _ in range(30):
    autocast = torch.autocast("cpu", dtype=torch.bfloat16) if "autocast" in sys.argv else contextlib.nullcontext()
    with autocast:
        loss = nn.functional.cross_entropy(run(rows), wanted)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
