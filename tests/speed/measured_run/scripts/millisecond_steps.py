"""Steps of about two milliseconds, in blocks with the hooks and without them, one after the other.

Prints, for each pair of blocks, the ratio of their times: what measuring costs where it costs most. Under
`launch.variables` only; the line sampler runs throughout, so its share is counted in a third kind of block.
"""

import json
import time

import torch
from torch.optim import optimizer as optimizers
from torch.utils.data import DataLoader, TensorDataset, dataloader

STEPS, PAIRS = 100, 60


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 128))
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(TensorDataset(torch.randn(64 * STEPS, 128)), batch_size=64)
    base, backward = dataloader._BaseDataLoaderIter, torch.autograd.backward
    timed_next = base.__next__
    hooks = (optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks)
    kept = [dict(table) for table in hooks]

    def block(measured: bool) -> float:
        base.__next__ = timed_next if measured else timed_next.__wrapped__
        torch.autograd.backward = backward if measured else backward.__wrapped__
        for table, entries in zip(hooks, kept, strict=True):
            table.clear()
            table.update(entries if measured else {})
        began = time.thread_time()  # of this thread: neighbours cannot lengthen it by taking the core away
        for (batch,) in loader:
            model(batch).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        return time.thread_time() - began

    block(True)
    pairs = [(block(True), block(False)) if n % 2 else (block(False), block(True))[::-1] for n in range(PAIRS)]
    print(json.dumps({"step": sum(plain for _, plain in pairs) / PAIRS / STEPS, "pairs": pairs}))


if __name__ == "__main__":
    main()
