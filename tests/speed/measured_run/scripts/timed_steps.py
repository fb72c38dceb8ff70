"""Trains for some seconds and prints wall and CPU seconds per step (all threads) after a warm-up.

Steps of about ten milliseconds on one thread: short for a training, so what measuring costs weighs most.
"""

import json
import sys
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

WARM_UP, STEPS = 50, int(sys.argv[1])


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(512, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 512)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(TensorDataset(torch.randn(32 * (WARM_UP + STEPS), 512)), batch_size=32)
    blocks = []
    wall, cpu = time.perf_counter(), time.process_time()
    for step, (batch,) in enumerate(loader, 1):
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step >= WARM_UP and (step - WARM_UP) % 50 == 0:
            now, used = time.perf_counter(), time.process_time()
            blocks.append([(now - wall) / 50, (used - cpu) / 50])
            wall, cpu = now, used
    print(json.dumps(blocks[1:]))


if __name__ == "__main__":
    main()
