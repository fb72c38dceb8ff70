"""DistributedDataParallel over gloo as torchrun starts it. Rank 0 prints every step."""
# mypy: ignore-errors

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(3200, 256), torch.randint(0, 10, (3200,)))
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    step = 0
    for epoch in range(2):
        sampler = DistributedSampler(data)
        sampler.set_epoch(epoch)
        for inputs, labels in DataLoader(data, batch_size=8, sampler=sampler):
            nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            if os.environ["RANK"] == "0":
                print(f"step {step}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
