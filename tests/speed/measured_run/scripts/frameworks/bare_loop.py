"""The loop of PyTorch's own quickstart: a DataLoader, a classifier, an optimizer. Prints every step."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(4000, 784), torch.randint(0, 10, (4000,)))
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()
    step = 0
    for _ in range(5):
        model.train()
        for inputs, labels in DataLoader(data, batch_size=64, shuffle=True):
            loss = loss_of(model(inputs), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            print(f"step {step}", flush=True)


if __name__ == "__main__":
    main()
