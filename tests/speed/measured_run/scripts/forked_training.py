"""A parent that trains a little, and a child of its own, forked, that trains too: two training processes."""

import multiprocessing

import torch


def train(steps: int) -> None:
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        model(torch.ones(4, 8)).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def main() -> None:
    torch.set_num_threads(1)
    train(30)
    child = multiprocessing.get_context("fork").Process(target=train, args=(50,))
    child.start()
    child.join()


if __name__ == "__main__":
    main()
