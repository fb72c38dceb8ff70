"""A loop with nothing to complain of: tokens made once, batches of fixed length, all the time in the computation."""

import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60


def main() -> None:
    torch.manual_seed(0)
    tokens = torch.randint(0, 256, (STEPS * 8, 64))
    model = torch.nn.Sequential(
        torch.nn.Embedding(256, 256), torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256)
    )
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for (ids,) in DataLoader(TensorDataset(tokens), batch_size=8, shuffle=True):
        logits = model(ids[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"trained {STEPS} steps, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
