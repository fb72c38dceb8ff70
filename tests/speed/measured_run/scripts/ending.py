"""Ends as it is told to: by an exception, by leaving at once, or waiting for a signal after some steps."""

import os
import sys
import time

import torch


def main() -> None:
    weight = torch.nn.Parameter(torch.ones(4))
    optimizer = torch.optim.SGD([weight], lr=0.01)
    way = sys.argv[1]
    for step in range(10**6):
        weight.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.005)
        if step == 250:
            if way == "exception":
                raise RuntimeError("loss is not a number")
            if way == "at-once":
                os._exit(3)
            print("ready", flush=True)


if __name__ == "__main__":
    main()
