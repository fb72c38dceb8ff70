"""Two ranks with DistributedDataParallel over gloo, as torchrun or accelerate launch start them."""

import os

import torch
import torch.distributed as dist


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.randn(200, 64))
    sampler = torch.utils.data.distributed.DistributedSampler(data)
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=4, sampler=sampler):
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()
    print("rank", os.environ["RANK"], "done", flush=True)


if __name__ == "__main__":
    main()
