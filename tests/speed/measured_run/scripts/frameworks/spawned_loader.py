"""Two spawned loader workers that stay alive over the epochs. Prints every step."""
# mypy: ignore-errors

from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self) -> int:
        return 1200

    def __getitem__(self, index: int) -> Any:
        return torch.full((64,), index / 1200), torch.tensor([(index / 1200) ** 2])


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(
        Squares(), batch_size=8, shuffle=True, num_workers=2, multiprocessing_context="spawn", persistent_workers=True
    )
    step = 0
    for _ in range(3):
        for inputs, targets in loader:
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            print(f"step {step}", flush=True)


if __name__ == "__main__":
    main()
