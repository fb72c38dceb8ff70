"""A loader whose workers are fresh interpreters (spawn) that import torch themselves, and must not be measured."""

from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return 200

    def __getitem__(self, index: int) -> Any:
        return torch.full((16,), float(index))


def main() -> None:
    model = torch.nn.Linear(16, 1)
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(
        Numbers(), batch_size=4, num_workers=1, multiprocessing_context="spawn", persistent_workers=True
    )
    for _ in range(2):
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    main()
